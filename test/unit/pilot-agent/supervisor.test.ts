import { expect } from 'chai';
import { MeshError } from '../../../src/lib/errors.ts';
import type { ProxyExit, ProxyProcess } from '../../../src/pilot-agent/envoy-process.ts';
import { AgentMetrics } from '../../../src/pilot-agent/metrics.ts';
import { type SupervisionEnd, Supervisor } from '../../../src/pilot-agent/supervisor.ts';
import { FakeClock } from '../../fakes/clock.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';

const KILLED: ProxyExit = { code: null, signal: 'SIGKILL' };

interface Start {
  readonly epoch: number;
  readonly configuration: string;
  readonly exit: PromiseWithResolvers<ProxyExit>;
}

describe('supervision of the proxy', () => {
  let clock: FakeClock;
  let starts: Start[];
  let stop: AbortController;
  let logger: MemoryLogger;
  let runningAfterEnds: (readonly number[])[];
  /** Makes the next starts fail. */
  let startFailure: string | undefined;
  let obstacle: string | undefined;

  beforeEach(() => {
    clock = new FakeClock('2026-01-01T00:00:00Z');
    starts = [];
    stop = new AbortController();
    logger = new MemoryLogger();
    runningAfterEnds = [];
    startFailure = undefined;
    obstacle = undefined;
  });

  const supervise = (diagnose: () => Promise<void> = async () => {}): Supervisor<string> =>
    new Supervisor(
      {
        start: async (epoch, configuration): Promise<ProxyProcess> => {
          if (startFailure !== undefined) throw new MeshError('failed_precondition', startFailure);
          const exit = Promise.withResolvers<ProxyExit>();
          starts.push({ epoch, configuration, exit });
          return { pid: starts.length, exited: exit.promise, kill: () => exit.resolve(KILLED) };
        },
        diagnose,
        obstacle: async () => obstacle,
        ended: (running) => runningAfterEnds.push(running),
        clock,
        logger,
        metrics: new AgentMetrics(),
      },
      'first',
    );
  const end = (exit: ProxyExit): void => starts.at(-1)?.exit.resolve(exit);
  const epochs = (): string[] => starts.map(({ epoch, configuration }) => `${epoch} ${configuration}`);
  const described = (result: SupervisionEnd): unknown =>
    result.kind === 'failed' ? [result.error.message, result.exitCode] : result.kind;

  it('doubles the wait and gives up after ten restarts, with what the proxy ended with', async () => {
    const run = supervise().run(stop.signal);
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
    const message = 'the proxy ended 11 times in a row, the last time by SIGKILL; its log tells why';
    expect(described(await run)).to.deep.equal([message, 137]);
    expect(epochs().at(-1)).to.equal('0 first');
  });

  it('does not wait on when what kept the proxy from starting has gone, and says what it was', async () => {
    const run = supervise().run(stop.signal);
    for (let restart = 0; restart < 6; restart += 1) {
      await settled();
      end({ code: 1, signal: null });
      await clock.wakeNext();
    }
    await settled();
    obstacle = 'port 15000 is taken';
    end({ code: 1, signal: null });
    for (let looks = 0; looks < 3; looks += 1) {
      expect(await clock.sleeping()).to.equal(200);
      await clock.wakeNext();
      await settled();
    }
    expect(starts).to.have.length(7);
    obstacle = undefined;
    await clock.wakeNext();
    await settled();
    expect(starts).to.have.length(8);
    expect(logger.entries.at(-2)?.fields).to.include({ because: 'port 15000 is taken', inMs: 12_800 });
    stop.abort();
    await run;
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
    expect(await run).to.deep.equal({ kind: 'stopped' });
  });

  it('does not restart what can never work, and passes its exit code on', async () => {
    const run = supervise(() => Promise.reject(new MeshError('failed_precondition', 'unknown field'))).run(stop.signal);
    await settled();
    end({ code: 3, signal: null });
    expect(described(await run)).to.deep.equal(['unknown field', 3]);
    expect(starts).to.have.length(1);
  });

  it('does not take a proxy that ended well for a success', async () => {
    const run = supervise(() => Promise.reject(new MeshError('failed_precondition', 'told to'))).run(stop.signal);
    await settled();
    end({ code: 0, signal: null });
    expect(described(await run)).to.deep.equal(['told to', 1]);
  });

  it('leaves the running proxy to whoever drains it when it is stopped', async () => {
    const supervisor = supervise();
    const run = supervisor.run(stop.signal);
    await settled();
    stop.abort();
    await run;
    expect(supervisor.running.map(({ pid }) => pid)).to.deep.equal([1]);
  });

  it('hands over to a further epoch when the configuration changes', async () => {
    const supervisor = supervise();
    const run = supervisor.run(stop.signal);
    await settled();
    supervisor.replace('second');
    await settled();
    supervisor.replace('third');
    await settled();
    expect(epochs()).to.deep.equal(['0 first', '1 second', '2 third']);
    starts[0]?.exit.resolve({ code: 0, signal: null });
    await settled();
    expect(supervisor.running.map(({ pid }) => pid)).to.deep.equal([3, 2]);
    expect(runningAfterEnds).to.deep.equal([[1, 2]]);
    expect(logger.entries.filter(({ level }) => level === 'error')).to.deep.equal([]);
    expect(starts).to.have.length(3);
    stop.abort();
    await run;
  });

  it('restarts a newest epoch that ended beside the ones that drain, and begins at 0 when none is left', async () => {
    const supervisor = supervise();
    const run = supervisor.run(stop.signal);
    await settled();
    supervisor.replace('second');
    await settled();
    end(KILLED);
    await clock.wakeNext();
    await settled();
    starts[0]?.exit.resolve({ code: 0, signal: null });
    await settled();
    end(KILLED);
    await clock.wakeNext();
    await settled();
    expect(epochs()).to.deep.equal(['0 first', '1 second', '1 second', '0 second']);
    stop.abort();
    await run;
  });

  it('forgets failures and does not wait any longer when a new configuration comes', async () => {
    const supervisor = supervise();
    const run = supervisor.run(stop.signal);
    for (let failure = 0; failure < 9; failure += 1) {
      await settled();
      end(KILLED);
      await clock.wakeNext();
    }
    await settled();
    end(KILLED);
    expect(await clock.sleeping()).to.equal(60_000);
    supervisor.replace('second');
    await settled();
    expect(epochs().at(-1)).to.equal('0 second');
    end(KILLED);
    expect(await clock.sleeping()).to.equal(200);
    stop.abort();
    await run;
  });

  it('goes on with the epoch before while the next one cannot be started, and tries again', async () => {
    const supervisor = supervise();
    const run = supervisor.run(stop.signal);
    await settled();
    startFailure = 'the disk is full';
    supervisor.replace('second');
    await clock.sleeping();
    expect(supervisor.running).to.have.length(1);
    expect(logger.text()).to.contain('the disk is full').and.to.contain('goes on with the one before');
    startFailure = undefined;
    await clock.wakeNext();
    await settled();
    expect(epochs()).to.deep.equal(['0 first', '1 second']);
    stop.abort();
    await run;
  });

  it('fails at once when the first proxy cannot be started', async () => {
    startFailure = 'the disk is full';
    const failure = await supervise()
      .run(stop.signal)
      .then(() => undefined, MeshError.from);
    expect(failure?.message).to.equal('the disk is full');
  });

  it('starts nothing when it is told to stop before', async () => {
    stop.abort();
    expect(await supervise().run(stop.signal)).to.deep.equal({ kind: 'stopped' });
    expect(starts).to.deep.equal([]);
  });
});

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
