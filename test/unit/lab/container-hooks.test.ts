import { expect } from 'chai';
import type { LaunchedContainer } from '../../../src/lab/kubelet/container-launch.ts';
import type { ContainerExit } from '../../../src/lab/kubelet/container-process.ts';
import { ContainerRunner } from '../../../src/lab/kubelet/container-runner.ts';
import { parsePodSpec } from '../../../src/lab/kubelet/parse-pod-spec.ts';
import type { ContainerSpec } from '../../../src/lab/kubelet/pod-spec.ts';
import type { ProbeResult } from '../../../src/lab/kubelet/probe.ts';
import { type Duration, seconds } from '../../../src/lib/duration.ts';
import { FakeClock } from '../../fakes/clock.ts';

const GRACE = 30;
const EXEC = { exec: { command: ['hook'] } };

function parse(lifecycle: object) {
  const spec = { containers: [{ name: 'app', image: 'app', lifecycle }] };
  return parsePodSpec({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec });
}

function container(lifecycle: object): ContainerSpec {
  const parsed = parse(lifecycle);
  const [first] = parsed.ok ? parsed.value.containers : [];
  if (first === undefined) throw new Error(JSON.stringify(parsed));
  return first;
}

describe('hooks of a container in a lab', () => {
  let clock: FakeClock;
  let log: string[];
  let grace: Duration;
  let hook: PromiseWithResolvers<ProbeResult>;
  let asked: PromiseWithResolvers<void>;
  let exited: PromiseWithResolvers<ContainerExit>;
  let stop: AbortController;
  let signalled: PromiseWithResolvers<void>;

  beforeEach(() => {
    clock = new FakeClock('2030-01-01T00:00:00Z');
    log = [];
    grace = seconds(GRACE);
    hook = Promise.withResolvers();
    asked = Promise.withResolvers();
    exited = Promise.withResolvers();
    signalled = Promise.withResolvers();
    stop = new AbortController();
  });

  function run(lifecycle: object, ending?: AbortSignal): ContainerRunner {
    const launched: LaunchedContainer = {
      context: { env: {}, workingDir: '/', privileges: [] },
      process: {
        started: Promise.resolve(7),
        exited: exited.promise,
        signal: (name) => {
          log.push(name);
          signalled.resolve();
        },
      },
    };
    const runner = new ContainerRunner(
      container(lifecycle),
      {
        launch: () => launched,
        probe: () => Promise.resolve({ ok: true }),
        hook: (_, { type }, { pid }, limit) => {
          log.push(`${type} in ${pid} for ${limit} ms`);
          asked.resolve();
          return hook.promise;
        },
        onHookFailure: (name, which, message) => log.push(`${which} of ${name} failed: ${message}`),
        gracePeriod: () => grace,
        now: () => clock.now(),
        random: () => 0,
        sleep: (time, signal) => clock.sleep(time, signal),
        onChange: () => {},
      },
      0,
    );
    void runner.run('Never', stop.signal, ending).then((code) => log.push(`exit ${code}`));
    return runner;
  }

  it('run after the start, and the container is neither started nor ready before they are done', async () => {
    const runner = run({ postStart: EXEC });
    await asked.promise;
    expect(runner.record).to.include({ started: false, ready: false });
    expect(runner.record.state.type).to.equal('running');
    hook.resolve({ ok: true });
    await runner.started;
    expect(runner.record).to.include({ started: true, ready: true });
    expect(log).to.deep.equal(['exec in 7 for 600000 ms']);
  });

  it('end the container when they fail after the start, and its status says so', async () => {
    const runner = run({ postStart: EXEC });
    hook.resolve({ ok: false, message: 'no' });
    await signalled.promise;
    expect(log).to.deep.equal(['exec in 7 for 600000 ms', 'SIGTERM']);
    exited.resolve({ type: 'ended', code: 143 });
    await exited.promise;
    await new Promise(setImmediate);
    expect(runner.record.state).to.include({ type: 'terminated', message: 'its postStart hook failed: no' });
  });

  it('run before the program is asked to end', async () => {
    const runner = run({ preStop: EXEC });
    await runner.started;
    stop.abort();
    await asked.promise;
    expect(log).to.deep.equal([`exec in 7 for ${GRACE * 1_000} ms`]);
    clock.advance(10_000);
    hook.resolve({ ok: false, message: 'no' });
    await signalled.promise;
    expect(log.slice(1)).to.deep.equal(['preStop of app failed: no', 'SIGTERM']);
    expect(await clock.sleeping(), 'what is left').to.equal(20_000);
    await clock.wakeNext();
    await new Promise(setImmediate);
    expect(log.at(-1)).to.equal('SIGKILL');
  });

  it('take no more time than is granted, after which the program has two seconds', async () => {
    const runner = run({ preStop: EXEC });
    await runner.started;
    stop.abort();
    await asked.promise;
    await clock.wakeNext();
    await signalled.promise;
    expect(log.at(-1)).to.equal('SIGTERM');
    expect(await clock.sleeping()).to.equal(2_000);
  });

  it('run when the pod begins to end, though the turn of a native sidecar comes later', async () => {
    const ending = new AbortController();
    const runner = run({ preStop: EXEC }, ending.signal);
    await runner.started;
    ending.abort();
    await asked.promise;
    hook.resolve({ ok: true });
    await new Promise(setImmediate);
    expect(log, 'nothing but the hook').to.have.length(1);
    stop.abort();
    await signalled.promise;
    expect(log.slice(1), 'the hook only once').to.deep.equal(['SIGTERM']);
  });

  it('do not run when the pod is to end at once, or has ended by itself', async () => {
    grace = seconds(0);
    const runner = run({ preStop: EXEC });
    await runner.started;
    stop.abort();
    await signalled.promise;
    exited.resolve({ type: 'ended', code: 0 });
    await new Promise(setImmediate);
    expect(log).to.deep.equal(['SIGTERM', 'exit 0']);
  });

  it('are exec, httpGet and sleep', () => {
    const { postStart, preStop } = container({
      postStart: { httpGet: { path: '/x', port: 80 } },
      preStop: { sleep: { seconds: 3 } },
    });
    expect(postStart).to.include({ type: 'httpGet', path: '/x', port: 80 });
    expect(preStop).to.deep.equal({ type: 'sleep', time: seconds(3) });
    const refused = parse({ preStop: { tcpSocket: { port: 1 } } });
    expect(refused.ok ? [] : refused.problems).to.deep.equal([
      { path: 'spec.containers[0].lifecycle.preStop', message: 'the lab runs hooks of exec, httpGet and sleep' },
    ]);
  });
});
