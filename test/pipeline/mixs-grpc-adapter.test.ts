import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { serverFlags } from '../../src/mixs/flags.ts';
import { run } from '../../src/mixs/main.ts';
import { freePort } from '../harness/free-port.ts';
import { requireGrpcAdapter, SampleAdapter } from '../harness/grpc-adapter.ts';
import { InProcess } from '../harness/in-process.ts';
import { MixerClient } from '../harness/mixer-client.ts';

const HANDLER = 'sample.grpcadapter.mesh-system';
const POLL_MS = 20;

describe('mixs with the gRPC adapter of examples/grpc-adapter', function () {
  this.timeout(120_000);
  let sample: SampleAdapter;
  let directory: string;
  let server: InProcess;
  let client: MixerClient;
  let monitoringPort: number;
  let example: string;

  /** Whole at once: mixs never reads half of it. */
  function write(text: string): void {
    const path = join(directory, 'mixs.yaml');
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  }

  before(async function () {
    sample = new SampleAdapter(requireGrpcAdapter(this), await freePort());
    await sample.start();
    directory = mkdtempSync(join(tmpdir(), 'mixs-grpc-'));
    example = readFileSync('examples/grpc-adapter/rules/sample.yaml', 'utf8')
      .replace('127.0.0.1:9099', `127.0.0.1:${sample.port}`)
      // What another machine does in a moment may take this one seconds.
      .replace('  templates:', '  deadline: 5s\n  healthCheckInterval: 50ms\n  templates:')
      .replace('refill: 10s', 'refill: 24h');
    write(example);
    const port = await freePort();
    monitoringPort = await freePort();
    server = await InProcess.start(run, serverFlags, { configStoreURL: `fs://${directory}`, port, monitoringPort }, 'serving');
    client = new MixerClient(port);
  });

  after(async () => {
    client?.close();
    await server?.stop();
    await sample?.remove();
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  });

  const page = async (path: string): Promise<string> => (await fetch(`http://127.0.0.1:${monitoringPort}${path}`)).text();

  async function condition(): Promise<Readonly<Record<string, unknown>>> {
    const { handlers, problems } = JSON.parse(await page('/debug/config'));
    expect(problems).to.deep.equal([]);
    return handlers.find(({ handler }: { readonly handler: string }) => handler === HANDLER)?.condition;
  }

  async function until(is: (condition: Readonly<Record<string, unknown>>) => boolean): Promise<void> {
    while (!is(await condition())) await sleep(POLL_MS);
  }

  it('lets it decide', async () => {
    const refused = await client.check({ 'source.principal': 'cluster.local/ns/legacy/sa/sleep' });
    expect(refused.precondition.status).to.deep.include({ code: 7, message: `${HANDLER}:not from here` });
    expect(refused.precondition.validDuration).to.deep.include({ seconds: 2 });
    const admitted = await client.check({ 'source.principal': 'cluster.local/ns/foo/sa/sleep' });
    expect(admitted.precondition.status?.code ?? 0).to.equal(0);
    expect(admitted.precondition.validDuration).to.deep.include({ seconds: 5 });
  });

  it('lets it count', async () => {
    const take = async (who: string, amount: number): Promise<number> => {
      const { quotas } = await client.check({ 'source.principal': who }, { quotas: { calls: { amount } } });
      return quotas['calls']?.grantedAmount ?? 0;
    };
    expect(await take('a', 3)).to.equal(3);
    expect(await take('a', 3)).to.equal(0);
    expect(await take('b', 3)).to.equal(3);
  });

  it('shows how they get on, on a page and as metrics', async () => {
    await until(({ health }) => health === 'serving');
    expect(await condition()).to.deep.equal({ circuit: 'closed', session: 'open', health: 'serving', waiting: 0, failures: 0 });
    const metrics = await page('/metrics');
    expect(metrics).to.include(`mixs_handler_circuit{handler="${HANDLER}",state="closed"} 1`);
    expect(metrics).to.include(`mixs_handler_circuit{handler="${HANDLER}",state="open"} 0`);
    expect(metrics).to.include(`mixs_handler_trouble{handler="${HANDLER}"} 0`);
    expect(metrics).to.include(`mixs_handler_failures_total{handler="${HANDLER}"} 0`);
  });

  it('refuses everything while the adapter does not take the parameters, and says so', async () => {
    write(example.replace('quota: 5', 'quota: none'));
    await until(({ session }) => session === 'refused');
    expect((await condition())['trouble']).to.equal('params.quota: must be a whole number above zero');
    expect(await page('/metrics')).to.include(`mixs_handler_trouble{handler="${HANDLER}"} 1`);
    const { precondition } = await client.check({ 'source.principal': 'cluster.local/ns/foo/sa/sleep' });
    expect(precondition.status).to.deep.include({ code: 14, message: `${HANDLER}:the adapter gives no decision` });
    expect(server.log).to.include('params.quota: must be a whole number above zero');
    write(example);
    await until(({ session }) => session === 'open');
  });

  it('tells it what has happened, at the latest when it ends', async () => {
    await client.report([
      { 'source.principal': 'cluster.local/ns/foo/sa/sleep', 'response.duration': { span: 2 }, 'response.code': 200 },
    ]);
    expect(await server.stop()).to.equal(0);
    expect(sample.reports()).to.deep.equal([
      {
        handler: HANDLER,
        instance: 'duration.metric.mesh-system',
        template: 'metric',
        fields: {
          value: '2s',
          dimensions: { caller: 'cluster.local/ns/foo/sa/sleep', service: 'unknown', code: 200 },
          monitoredResourceDimensions: {},
        },
      },
    ]);
  });
});
