import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { serverFlags } from '../../src/mixs/flags.ts';
import { run } from '../../src/mixs/main.ts';
import { ruleObject } from '../fakes/rule-objects.ts';
import { BackendProcess, requireBackend } from '../harness/backend.ts';
import { manifest } from '../harness/ca-process.ts';
import { freePort } from '../harness/free-port.ts';
import { InProcess } from '../harness/in-process.ts';
import { MixerClient } from '../harness/mixer-client.ts';

describe('a real Prometheus', () => {
  it('scrapes what the prometheus adapter makes of reports', async function () {
    const program = requireBackend('prometheus', this);
    const dir = mkdtempSync(join(tmpdir(), 'mixs-prometheus-'));
    const [port, monitoringPort, prometheusPort] = [await freePort(), await freePort(), await freePort()];
    const metric = { name: 'request_count', kind: 'COUNTER', instanceName: 'count.metric', labelNames: ['source'] };
    manifest(
      dir,
      'rules.yaml',
      ruleObject('prometheus', 'prom', { metrics: [metric] }),
      ruleObject('metric', 'count', { value: '1', dimensions: { source: 'source.name | "unknown"' } }),
      ruleObject('rule', 'count', { actions: [{ handler: 'prom.prometheus', instances: ['count.metric'] }] }),
    );
    const prometheus = new BackendProcess(program, prometheusPort, (directory) => {
      const scrape = { job_name: 'mixs', static_configs: [{ targets: [`127.0.0.1:${monitoringPort}`] }] };
      const config = { global: { scrape_interval: '1s', scrape_timeout: '1s' }, scrape_configs: [scrape] };
      writeFileSync(join(directory, 'prometheus.yml'), JSON.stringify(config));
      const listen = `--web.listen-address=127.0.0.1:${prometheusPort}`;
      return [`--config.file=${directory}/prometheus.yml`, `--storage.tsdb.path=${directory}/data`, listen];
    });
    const server = await InProcess.start(run, serverFlags, { configStoreURL: `fs://${dir}`, port, monitoringPort }, 'serving');
    const client = new MixerClient(port);
    try {
      await prometheus.start();
      await client.report([{ 'source.name': 'sleep' }, { 'source.name': 'sleep' }, { 'source.name': 'other "x"' }]);
      const query = async (): Promise<readonly (readonly [string, string])[]> => {
        const url = `http://127.0.0.1:${prometheusPort}/api/v1/query?query=mesh_request_count`;
        const answer = (await (await fetch(url)).json()) as {
          readonly data?: {
            readonly result: readonly { readonly metric: { readonly source: string }; readonly value: [number, string] }[];
          };
        };
        const series = (answer.data?.result ?? []).map(({ metric: labels, value }) => [labels.source, value[1]] as const);
        return [...series].sort(([a], [b]) => (a < b ? -1 : 1));
      };
      while ((await query()).length < 2) await sleep(50);
      expect(await query()).to.deep.equal([
        ['other "x"', '1'],
        ['sleep', '2'],
      ]);
    } finally {
      client.close();
      await prometheus.remove();
      await server.stop();
      rmSync(dir, { recursive: true, force: true });
    }
  });
});
