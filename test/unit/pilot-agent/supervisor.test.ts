import { expect } from 'chai';
import { MeshError } from '../../../src/lib/errors.ts';
import type { ProxyExit, ProxyProcess } from '../../../src/pilot-agent/envoy-process.ts';
import { AgentMetrics } from '../../../src/pilot-agent/metrics.ts';
import { Supervisor } from '../../../src/pilot-agent/supervisor.ts';
import { FakeClock } from '../../fakes/clock.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';

const KILLED: ProxyExit = { code: null, signal: 'SIGKILL' };

describe('supervision of the proxy', () => {
  let clock: FakeClock;
  let starts: PromiseWithResolvers<ProxyExit>[];
  let stop: AbortController;

  beforeEach(() => {
    clock = new FakeClock('2026-01-01T00:00:00Z');
    starts = [];
    stop = new AbortController();
  });

  const supervise = (diagnose: () => Promise<void> = async () => {}): Supervisor =>
    new Supervisor({
      start: async (): Promise<ProxyProcess> => {
        const exit = Promise.withResolvers<ProxyExit>();
        starts.push(exit);
        return { pid: starts.length, exited: exit.promise, kill: () => exit.resolve(KILLED) };
      },
      diagnose,
      clock,
      logger: new MemoryLogger(),
      metrics: new AgentMetrics(),
    });
  const end = (exit: ProxyExit): void => starts.at(-1)?.resolve(exit);

  it('doubles the wait and gives up after ten restarts', async () => {
    const failed = supervise()
      .run(stop.signal)
      .then(() => undefined, MeshError.from);
    const waits: number[] = [];
    for (let restart = 0; restart < 10; restart += 1) {
      await settled();
      end(KILLED);
      waits.push(await clock.sleeping());
      await clock.wakeNext();
    }
    await settled();
    end(KILLED);
    expect(waits).to.deep.equal([200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000]);
    expect((await failed)?.message).to.equal('the proxy ended 11 times in a row, the last time by SIGKILL; its log tells why');
  });

  it('begins anew after a proxy that ran well', async () => {
    const run = supervise().run(stop.signal);
    for (const [lived, wait] of [
      [0, 200],
      [0, 400],
      [60_000, 200],
    ] as const) {
      await settled();
      clock.advance(lived);
      end(KILLED);
      expect(await clock.sleeping()).to.equal(wait);
      await clock.wakeNext();
    }
    stop.abort();
    await run;
  });

  it('does not restart what can never work', async () => {
    const failed = supervise(() => Promise.reject(new MeshError('failed_precondition', 'unknown field')))
      .run(stop.signal)
      .then(() => undefined, MeshError.from);
    await settled();
    end({ code: 1, signal: null });
    expect((await failed)?.message).to.equal('unknown field');
    expect(starts).to.have.length(1);
  });

  it('leaves the running proxy to whoever drains it when it is stopped', async () => {
    const supervisor = supervise();
    const run = supervisor.run(stop.signal);
    await settled();
    stop.abort();
    await run;
    expect(supervisor.running?.pid).to.equal(1);
  });
});

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
