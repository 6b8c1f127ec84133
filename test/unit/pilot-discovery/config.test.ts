import { expect } from 'chai';
import { parseCommandLine } from '../../../src/flags/parse.ts';
import { resolveConfig } from '../../../src/pilot-discovery/config.ts';
import { discoveryFlags } from '../../../src/pilot-discovery/flags.ts';
import { parseWebhookEndpoint } from '../../../src/pilot-discovery/webhook-endpoint.ts';

function resolved(line: string, env: Readonly<Record<string, string>> = {}) {
  const parsed = parseCommandLine(discoveryFlags, [], line.split(' '), env);
  if (!parsed.ok || parsed.value.kind === 'help') throw new Error('not a command line');
  return resolveConfig(parsed.value.invocation, env);
}

describe('configuration of pilot-discovery', () => {
  it('writes the status of policies, but not into the files of --configDir', () => {
    expect(resolved('--orchconfig /a').policyStatus).to.equal('written');
    expect(resolved('--orchconfig /a --configDir /b').policyStatus).to.equal('left');
  });

  it('names the server by its pod, or by where it is', () => {
    expect(resolved('--orchconfig /a', { POD_NAME: 'pilot-1' }).reporterId).to.equal('pilot-1');
    expect(resolved('--orchconfig /a --port 8081').reporterId).to.match(/.:8081$/);
  });

  it('serves the validating webhook over TLS only', () => {
    expect(resolved('--orchconfig /a').validation).to.equal(undefined);
    expect(() => resolved('--orchconfig /a --validationAddr :15017')).to.throw(
      /--validationAddr: the webhook needs a certificate/,
    );
  });

  it('reads services and policies from the one store that is given', () => {
    expect(resolved('--configDir /b')).to.include({ registryPath: '/b', configPath: '/b' });
    expect(resolved('--orchconfig /a --configDir /b')).to.include({ registryPath: '/a', configPath: '/b' });
  });

  it('finds the remote clusters in a ConfigMap of the control plane, or of a namespace of their own', () => {
    const clusters = (flags: string, env = {}) => resolved(`--orchconfig /a ${flags}`, env).clusterRegistries;
    expect(clusters('--namespace ns')).to.equal(undefined);
    expect(clusters('--clusterRegistriesConfigMap c')).to.deep.equal({ namespace: 'mesh-system', name: 'c' });
    expect(clusters('--clusterRegistriesConfigMap c', { POD_NAMESPACE: 'ns' })).to.deep.equal({ namespace: 'ns', name: 'c' });
    const both = '--clusterRegistriesConfigMap c --clusterRegistriesNamespace other --namespace ns';
    expect(clusters(both)).to.deep.equal({ namespace: 'other', name: 'c' });
    expect(() => clusters('--clusterRegistriesNamespace other')).to.throw(/means nothing without --clusterRegistriesConfigMap/);
    expect(() => clusters('--clusterRegistriesConfigMap ../c')).to.throw(
      /--clusterRegistriesConfigMap: "..\/c" is not the name of a ConfigMap/,
    );
  });

  it('knows webhooks at addresses and at sockets', () => {
    expect(parseWebhookEndpoint('')).to.equal(undefined);
    expect(parseWebhookEndpoint('http://[::1]:81/a/b')).to.deep.equal({ type: 'http', host: '::1', port: 81, path: '/a/b' });
    expect(parseWebhookEndpoint('http://hook')).to.deep.equal({ type: 'http', host: 'hook', port: 80, path: '/' });
    expect(parseWebhookEndpoint('unix:///run/a%20b.sock')).to.deep.equal({ type: 'unix', socketPath: '/run/a b.sock' });
  });
});
