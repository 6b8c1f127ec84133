import { expect } from 'chai';
import { parseRemoteKubeconfig } from '../../../../src/io/kubernetes/remote-access.ts';

const PEM = Buffer.from('-----BEGIN CERTIFICATE-----\n').toString('base64');

function problemsOf(user: object, cluster: object = {}): readonly string[] {
  const config = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.1', ...cluster } }],
    users: [{ name: 'u', user }],
  };
  const parsed = parseRemoteKubeconfig(JSON.stringify(config));
  return parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${path}: ${message}`);
}

describe('a kubeconfig from a Secret', () => {
  it('may hold tokens, certificates and authorities', () => {
    expect(problemsOf({ token: 'abc' }, { 'certificate-authority-data': PEM })).to.deep.equal([]);
    expect(problemsOf({ 'client-certificate-data': PEM, 'client-key-data': PEM })).to.deep.equal([]);
  });

  it('starts no program', () => {
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh' };
    expect(problemsOf({ exec })).to.deep.equal([
      'exec: programs are not run for a remote cluster; give a token or a certificate',
    ]);
  });

  it('reads no file', () => {
    const files = { 'client-certificate': 'a', 'client-key': '/b' };
    expect(problemsOf({ ...files, tokenFile: '/etc/shadow' }, { 'certificate-authority': 'c' })).to.deep.equal([
      'certificate-authority: files are not read for a remote cluster; put the content into certificate-authority-data',
      'client-certificate: files are not read for a remote cluster; put the content into client-certificate-data',
      'client-key: files are not read for a remote cluster; put the content into client-key-data',
      'tokenFile: files are not read for a remote cluster; put the content into token',
    ]);
  });
});
