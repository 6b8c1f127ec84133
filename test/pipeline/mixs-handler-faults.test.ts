import { expect } from 'chai';
import { CheckRequest } from '#gen/istio/mixer/v1/mixer.ts';
import type { CheckResult, Handler } from '../../src/mixs/adapter/adapter.ts';
import { MixerClient } from '../harness/mixer-client.ts';
import { type Bounds, type MixsWithHandlers, mixsWithHandlers } from '../harness/mixs-with-handlers.ts';
import { GrpcJsClient } from '../harness/rpc-clients.ts';

const GRANTED: CheckResult = { status: { code: 0, message: '' }, validMs: 1_000, validUses: 1 };

/** A handler that answers once it is let go. */
class Gate {
  calls = 0;
  readonly #open: (() => void)[] = [];
  #isOpen = false;

  readonly check = (): Promise<CheckResult> => {
    this.calls++;
    return new Promise((resolve) => {
      if (this.#isOpen) resolve(GRANTED);
      else this.#open.push(() => resolve(GRANTED));
    });
  };

  open(): void {
    this.#isOpen = true;
    for (const open of this.#open) open();
  }

  async called(times: number): Promise<void> {
    while (this.calls < times) await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('mixs with handlers that fail', () => {
  let mixs: MixsWithHandlers;
  let client: MixerClient;

  const serve = async (handlers: Readonly<Record<string, Partial<Handler>>>, bounds?: Bounds): Promise<void> => {
    mixs = await mixsWithHandlers(handlers, bounds);
    client = new MixerClient(mixs.port);
  };
  const ask = async (namespace: string) => (await client.check({ 'source.namespace': namespace })).precondition.status;
  const codeOf = async (namespace: string): Promise<number> => (await ask(namespace))?.code ?? 0;
  const poolHas = async (state: string, count: number): Promise<void> => {
    while (!(await mixs.metrics.registry.metrics()).includes(`mixs_api_pool{state="${state}"} ${count}\n`)) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  };

  afterEach(async () => {
    client.close();
    await mixs.server.close(0);
  });

  it('refuses in their stead when they throw, whatever they throw, and answers others', async () => {
    await serve({
      sync: {
        check: () => {
          throw new Error('broken');
        },
      },
      async: { check: () => Promise.reject(new Error('broken later')) },
      // What a handler of others might throw.
      strange: { check: () => Promise.reject(undefined) },
      report: {
        report: () => {
          throw new TypeError('no report');
        },
        check: () => GRANTED,
      },
    });
    expect(await ask('sync')).to.include({ code: 13, message: 'sync.noop.mesh-system:broken' });
    expect(await ask('async')).to.include({ code: 13, message: 'async.noop.mesh-system:broken later' });
    expect(await ask('strange')).to.include({ code: 13 });
    await client.report([{ 'source.namespace': 'report' }]);
    expect(await codeOf('report')).to.equal(0);
    expect(await codeOf('nobody')).to.equal(0);
    expect(await mixs.metrics.registry.metrics()).to.match(/mixs_adapter_calls_total\{handler="sync[^}]*outcome="failed"\} 1/);
  });

  it('refuses when they hang, after a bound, and answers others meanwhile', async () => {
    const hanging = new Gate();
    const slow = new Gate();
    await serve({ hanging, slow }, { handlerLimitMs: 3_000 });
    const hung = Promise.all(Array.from({ length: 50 }, () => ask('hanging')));
    await hanging.called(50);
    expect(await codeOf('nobody')).to.equal(0);
    const late = ask('slow');
    await slow.called(1);
    slow.open();
    expect((await late)?.code ?? 0).to.equal(0);
    for (const status of await hung) {
      expect(status).to.include({ code: 4, message: 'hanging.noop.mesh-system:no answer in 3s' });
    }
    expect(await mixs.metrics.registry.metrics()).to.match(
      /mixs_adapter_calls_total\{handler="hanging[^}]*outcome="timed out"\} 50/,
    );
  });

  it('lets requests beyond --apiWorkerPoolSize wait, and refuses those for whom there is no room to wait', async () => {
    const gate = new Gate();
    await serve({ gate }, { apiWorkers: 2 });
    const running = Array.from({ length: 18 }, () => codeOf('gate'));
    await poolHas('waiting', 16);
    await poolHas('running', 2);
    const refused = await codeOf('nobody').catch((error: unknown) => error);
    expect(refused).to.include({ code: 8, details: '2 are worked on and 16 wait already' });
    gate.open();
    expect(await Promise.all(running)).to.deep.equal(Array(18).fill(0));
    expect(gate.calls).to.equal(18);
    await poolHas('running', 0);
    expect(await codeOf('nobody')).to.equal(0);
  });

  it('has no more than --adapterWorkerPoolSize calls wait for back ends', async () => {
    const gate = new Gate();
    await serve({ gate }, { adapterWorkers: 1 });
    const all = Array.from({ length: 12 }, () => codeOf('gate'));
    const refused = await Promise.any(all.map(async (code) => ((await code) === 8 ? 8 : Promise.reject(new Error('granted')))));
    expect(refused).to.equal(8);
    expect(gate.calls).to.equal(1);
    expect(await codeOf('nobody')).to.equal(0);
    gate.open();
    const codes = await Promise.all(all);
    expect(codes.filter((code) => code === 0)).to.have.lengthOf(9);
    expect(codes.filter((code) => code === 8)).to.have.lengthOf(3);
  });

  it('has streams beyond --maxConcurrentStreams wait', async () => {
    const gate = new Gate();
    await serve({ gate }, { streams: 3 });
    const all = Array.from({ length: 20 }, () => codeOf('gate'));
    await gate.called(3);
    await poolHas('running', 3);
    expect(gate.calls).to.equal(3);
    gate.open();
    expect(await Promise.all(all)).to.deep.equal(Array(20).fill(0));
  });

  it('calls one handler after the other with --singleThreaded', async () => {
    const [first, second] = [new Gate(), new Gate()];
    await serve({ a: first, b: second }, { singleThreaded: true });
    const answer = codeOf('everywhere');
    await first.called(1);
    expect(second.calls).to.equal(0);
    first.open();
    await second.called(1);
    second.open();
    expect(await answer).to.equal(0);
  });

  it('stops waiting for a handler when the caller has gone', async () => {
    const gate = new Gate();
    await serve({ gate }, { apiWorkers: 1 });
    const attributes = Uint8Array.of(
      ...[0x0a, 16, ...Buffer.from('source.namespace')],
      ...[0x0a, 4, ...Buffer.from('gate')],
      ...[0x12, 4, 0x08, 1, 0x10, 3],
    );
    const message = Buffer.from(CheckRequest.encode(CheckRequest.fromPartial({ attributes })).finish());
    const script = { path: '/istio.mixer.v1.Mixer/Check', messages: [message], timeoutMs: 500 };
    const results = await new GrpcJsClient().play({ port: mixs.port }, script, 5);
    expect(results.map(({ code }) => code)).to.deep.equal(Array(5).fill(4));
    await poolHas('running', 0);
    await poolHas('waiting', 0);
    expect(await codeOf('nobody')).to.equal(0);
  });

  it('ends once the checks that run are answered', async () => {
    const gate = new Gate();
    await serve({ gate });
    const running = Array.from({ length: 10 }, () => codeOf('gate'));
    await gate.called(10);
    const closed = mixs.server.close(10_000);
    gate.open();
    expect(await Promise.all(running)).to.deep.equal(Array(10).fill(0));
    await closed;
  });
});
