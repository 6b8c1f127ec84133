import { expect } from 'chai';
import { serverFlags } from '../../src/mixs/flags.ts';
import { run } from '../../src/mixs/main.ts';
import { ruleDefinitions } from '../../src/rules/config/crds.ts';
import { ruleKinds } from '../../src/rules/config/kinds.ts';
import { roleObject, ruleObject } from '../fakes/rule-objects.ts';
import { requireCluster, type TestCluster } from '../harness/cluster.ts';
import { freePort } from '../harness/free-port.ts';
import { InProcess } from '../harness/in-process.ts';
import { MixerClient } from '../harness/mixer-client.ts';
import { eventually } from '../harness/sidecar.ts';

const documents = (objects: readonly unknown[]): string => objects.map((object) => JSON.stringify(object)).join('\n---\n');

describe('mixs on a real API server', () => {
  let cluster: TestCluster;

  before(async function () {
    this.timeout(120_000);
    cluster = await requireCluster(this);
    const definitions = ruleDefinitions('mesh.io', 'all');
    cluster.kubectl(['apply', '--server-side', '-f', '-'], documents(definitions));
    cluster.kubectl([
      'wait',
      '--for=condition=Established',
      '--timeout=100s',
      ...definitions.map(({ metadata }) => `crd/${metadata.name}`),
    ]);
    // The condition comes a moment before the path is served.
    for (const { resource } of ruleKinds('mesh.io')) {
      const path = `/apis/${resource.apiVersion}/${resource.plural}`;
      await eventually(path, () => cluster.client.request({ method: 'GET', path, what: `list ${resource.plural}` }));
    }
    cluster.kubectl(['create', 'namespace', 'rules']);
  });

  after(function () {
    this.timeout(120_000);
    cluster?.kubectl(['delete', 'namespace', 'rules', '--wait=false']);
    cluster?.kubectl(['delete', 'crd', '-l', 'app=mixs', '--wait=false']);
  });

  it('finds definitions by the labels that scripts use', () => {
    const names = (selector: string): string => cluster.kubectl(['get', 'crd', '-l', selector, '-o', 'name']);
    expect(names('istio=mixer-instance')).to.include('/apikeies.config.mesh.io').and.not.include('/rules.');
    expect(names('istio=mixer-adapter')).to.include('/deniers.config.mesh.io');
    expect(names('istio=core,package=rule')).to.equal('customresourcedefinition.apiextensions.k8s.io/rules.config.mesh.io\n');
  });

  it('has what is wrong refused by the API server', () => {
    const refusal = (object: object): string => {
      try {
        return cluster.kubectl(['apply', '-f', '-'], JSON.stringify(object));
      } catch (thrown) {
        return String(thrown);
      }
    };
    expect(refusal(ruleObject('listentry', 'e', { value: 5 }, 'rules'))).to.include('spec.value: Invalid value: "integer"');
    expect(refusal(ruleObject('listchecker', 'l', { entryType: 'NUMBERS' }, 'rules'))).to.include('Unsupported value: "NUMBERS"');
    expect(refusal(ruleObject('rule', 'r', { action: [] }, 'rules'))).to.include('unknown field "spec.action"');
    expect(refusal(roleObject('ServiceRole', 'r', { rules: [{ paths: ['/'] }] }, 'rules'))).to.include(
      'spec.rules[0].services: Required value',
    );
    const binding = { subjects: [{ user: '*' }], roleRef: { kind: 'Role', name: 'r' } };
    expect(refusal(roleObject('ServiceRoleBinding', 'b', binding, 'rules'))).to.include('Unsupported value: "Role"');
  });

  it('works by the rules that are stored there, as they change', async function () {
    this.timeout(120_000);
    const rule = (message: string): string =>
      documents([
        ruleObject('denier', 'deny', { status: { code: 7, message } }, 'rules'),
        ruleObject('checknothing', 'nothing', {}, 'rules'),
        ruleObject(
          'rule',
          'deny',
          { match: '', actions: [{ handler: 'deny.denier', instances: ['nothing.checknothing'] }] },
          'rules',
        ),
      ]);
    cluster.kubectl(['apply', '-f', '-'], rule('first'));
    const [port, monitoringPort] = [await freePort(), await freePort()];
    const options = { configStoreURL: `k8s://${cluster.kubeconfig}`, configDefaultNamespace: 'rules', port, monitoringPort };
    const server = await InProcess.start(run, serverFlags, options, 'serving');
    const client = new MixerClient(port);
    try {
      const message = async (): Promise<string> => (await client.check({})).precondition.status?.message ?? '';
      expect(await message()).to.equal('deny.denier.rules:first');
      cluster.kubectl(['apply', '-f', '-'], rule('second'));
      while ((await message()) !== 'deny.denier.rules:second') await new Promise((resolve) => setTimeout(resolve, 20));
      // What no schema can see: the last good stays in force, and the log, the page and the metrics tell.
      const patch = (match: string): string =>
        cluster.kubectl([
          ...['patch', 'rules.config.mesh.io', 'deny', '-n', 'rules', '--type=merge', '-p'],
          JSON.stringify({ spec: { match } }),
        ]);
      patch('source.ip == 5');
      await server.logged('configuration refused\tobject="rule rules/deny" path=spec.match');
      expect(await message()).to.equal('deny.denier.rules:second');
      const page = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${monitoringPort}${path}`)).text();
      const [refused, ...others] = JSON.parse(await page('/debug/config')).problems;
      expect(refused).to.include({ object: 'rule rules/deny', inForce: 'last good' });
      expect(refused.problem).to.match(/^spec\.match: column 11: /);
      expect(others).to.deep.equal([]);
      expect(await page('/metrics')).to.include('mixs_config_objects{part="problems"} 1\n');
      patch('false');
      while ((await message()) !== '') await new Promise((resolve) => setTimeout(resolve, 20));
      expect(JSON.parse(await page('/debug/config')).problems).to.deep.equal([]);
    } finally {
      client.close();
      expect(await server.stop()).to.equal(0);
    }
  });
});
