/** Log entries of a mixs that runs, at a server of Fluentd's forward protocol. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { serverFlags } from '../../src/mixs/flags.ts';
import { run } from '../../src/mixs/main.ts';
import { ruleObject } from '../fakes/rule-objects.ts';
import { FluentServer } from '../harness/fluent-server.ts';
import { freePort } from '../harness/free-port.ts';
import { InProcess } from '../harness/in-process.ts';
import { manifest } from '../harness/manifest.ts';
import { MixerClient } from '../harness/mixer-client.ts';

describe('mixs with Fluentd behind it', function () {
  this.timeout(120_000);
  let dir: string;
  let mixs: InProcess;
  let client: MixerClient;
  let fluentd: FluentServer;
  let fluentPort: number;

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'mixs-fluentd-'));
    fluentd = new FluentServer();
    fluentPort = await freePort();
    const [port, monitoringPort] = [await freePort(), await freePort()];
    manifest(
      dir,
      'rules.yaml',
      ruleObject('fluentd', 'logs', { address: `127.0.0.1:${fluentPort}`, pushIntervalDuration: '10ms' }),
      ruleObject('logentry', 'access', {
        severity: '"warning"',
        timestamp: 'request.time',
        variables: { from: 'source.namespace | "nobody"', code: 'response.code | 0', took: 'response.duration' },
      }),
      ruleObject('rule', 'tell', {
        match: 'context.protocol == "http"',
        actions: [{ handler: 'logs.fluentd', instances: ['access.logentry'] }],
      }),
    );
    mixs = await InProcess.start(run, serverFlags, { configStoreURL: `fs://${dir}`, port, monitoringPort }, 'serving');
    client = new MixerClient(port);
  });

  after(async () => {
    client?.close();
    await mixs?.stop();
    await fluentd?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const told = (namespace: string) =>
    client.report([
      {
        'context.protocol': 'http',
        'source.namespace': namespace,
        'response.code': 200,
        'request.time': { seconds: 1_500_000_000 },
        'response.duration': { span: 2 },
      },
    ]);
  const from = (namespace: string) => ({
    tag: 'access.logentry.mesh-system',
    time: 1_500_000_000_000_000_000n,
    record: { from: namespace, code: 200, took: '2s', severity: 'warning' },
  });

  it('starts without Fluentd, and sends what was reported meanwhile as soon as it is there', async () => {
    await told('early');
    await mixs.logged('a back end takes no records');
    await fluentd.start(fluentPort);
    await fluentd.until(() => fluentd.taken.length === 1);
    expect(
      fluentd.taken.map(({ record, ...rest }) => ({ ...rest, record: { ...record, code: Number(record['code']) } })),
    ).to.deep.equal([from('early')]);
  });

  it('sends what is left before it ends', async () => {
    await told('late');
    expect(await mixs.stop()).to.equal(0);
    expect(fluentd.taken.map(({ record }) => record['from'])).to.include('late');
  });
});
