import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openStatsd } from '../../src/mixs/adapter/statsd.ts';
import { statsd } from '../../src/rules/adapter/statsd.ts';
import type { TypedValue } from '../../src/rules/attribute/value.ts';
import { adapterEnvironment } from '../fakes/adapter-environment.ts';
import { compiledInstance } from '../fakes/rule-instances.ts';
import { BackendProcess } from '../harness/backend.ts';
import { freePort } from '../harness/free-port.ts';

const SIZE = compiledInstance('metric', 'size', { value: 'response.size', dimensions: { source: 'source.name' } });
const TOOK = compiledInstance('metric', 'took', { value: 'response.duration' });

/** statsd logs with what Node has no more. */
const UTIL_LOG = 'data:text/javascript,import util from "node:util"; util.log = console.log';

function open(spec: object) {
  const params = statsd.parse(spec, [SIZE, TOOK]);
  if (!params.ok) throw new Error(JSON.stringify(params.problems));
  const environment = adapterEnvironment();
  const handler = openStatsd(params.value, environment);
  const report = (name: string, value: TypedValue, source = 'a'): void => {
    const dimensions = { source: { type: 'STRING', value: source } } as const;
    const values = { name: `${name}.metric.ns`, value, dimensions, monitoredResourceDimensions: {} };
    void handler.report?.([{ template: 'metric', values }], { signal: environment.signal });
  };
  return { report, close: () => handler.close(environment.signal), losses: environment.losses };
}

describe('the statsd adapter', () => {
  it('tells what is wrong with its configuration', () => {
    const parsed = statsd.parse(
      { address: 'x', samplingRate: 0, metrics: { size: { nameTemplate: '{{.other}}:1|c' }, none: {} } },
      [SIZE],
    );
    expect(parsed.ok ? [] : parsed.problems.map(({ path }) => path)).to.deep.equal([
      'samplingRate',
      'address',
      'metrics.size.nameTemplate',
      'metrics.size.nameTemplate',
      'metrics.none',
    ]);
  });

  it('keeps a bounded number of packets that are not sent, and counts what is lost', async () => {
    const { report, close, losses } = open({
      address: `127.0.0.1:${await freePort()}`,
      metrics: { size: { nameTemplate: 'bytes' } },
    });
    // Nothing is sent as long as this goes on.
    for (let count = 0; count < 200_000; count++) report('size', { type: 'INT64', value: 1n });
    expect(losses.get('queue full')).to.be.above(0);
    await close();
  });

  it('has a real statsd count, and does not mind that it is away', async function () {
    this.timeout(120_000);
    const dir = mkdtempSync(join(tmpdir(), 'mesh-statsd-'));
    const [port, adminPort] = [await freePort(), await freePort()];
    const config = {
      address: '127.0.0.1',
      port,
      mgmt_address: '127.0.0.1',
      mgmt_port: adminPort,
      flushInterval: 600_000,
      backends: [],
    };
    writeFileSync(join(dir, 'config.json'), JSON.stringify(config));
    const program = { path: process.execPath, env: {} };
    const server = new BackendProcess(program, adminPort, () => [
      '--import',
      UTIL_LOG,
      `${process.cwd()}/node_modules/statsd/stats.js`,
      join(dir, 'config.json'),
    ]);
    const ask = async (what: string): Promise<string> => {
      const socket = connect(adminPort, '127.0.0.1');
      socket.write(`${what}\n`);
      let answer = '';
      for await (const chunk of socket) {
        answer += String(chunk);
        if (answer.includes('END')) break;
      }
      return answer;
    };
    const metrics = {
      size: { nameTemplate: 'bytes.{{.source}}' },
      'size.metric': { type: 'GAUGE', nameTemplate: 'last' },
      took: { type: 'DISTRIBUTION' },
    };
    const { report, close } = open({ address: `127.0.0.1:${port}`, prefix: 'mesh.', flushDuration: '5ms', metrics });
    try {
      report('size', { type: 'INT64', value: 1n });
      await server.start();
      while (!(await ask('counters')).includes('mesh.bytes.x')) report('size', { type: 'INT64', value: 5n }, 'x');
      report('size', { type: 'INT64', value: 7n }, 'a.b:1|c\n');
      report('took', { type: 'DURATION', value: 1_500_000_000n });
      while (!(await ask('timers')).includes('1500'));
      expect(await ask('counters')).to.match(/'?mesh\.bytes\.a_b_1_c_'?: 7/);
      expect(await ask('gauges')).to.match(/'?mesh\.last'?: 7/);
      expect(await ask('timers')).to.match(/'?mesh\.took'?: \[ 1500 \]/);
      await server.kill();
      for (let count = 0; count < 2_000; count++) report('size', { type: 'INT64', value: 1n });
      await server.start();
      while (!(await ask('counters')).includes('mesh.bytes.back')) report('size', { type: 'INT64', value: 1n }, 'back');
    } finally {
      await close();
      await server.remove();
      rmSync(dir, { recursive: true, force: true });
    }
  });
});
