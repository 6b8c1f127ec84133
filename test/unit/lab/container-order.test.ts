import { expect } from 'chai';
import { type OrderedContainer, runInOrder } from '../../../src/lab/kubelet/container-order.ts';
import type { RestartPolicy } from '../../../src/lab/kubelet/pod-spec.ts';

type Log = string[];

/** A container that begins when it is run, and ends with a code when it is told to or asked to end. */
class FakeContainer implements OrderedContainer {
  readonly spec: { readonly sidecar: boolean };
  readonly #name: string;
  readonly #log: Log;
  readonly #started = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<number>();
  readonly #running = Promise.withResolvers<void>();
  #hasEnded = false;

  constructor(name: string, log: Log, sidecar = false) {
    this.#name = name;
    this.#log = log;
    this.spec = { sidecar };
  }

  get started(): Promise<void> {
    return this.#started.promise;
  }

  get running(): Promise<void> {
    return this.#running.promise;
  }

  run(policy: RestartPolicy, signal: AbortSignal, ending = signal): Promise<number> {
    this.#log.push(`${this.#name} begins: ${policy}`);
    signal.addEventListener('abort', () => {
      if (this.#hasEnded) return;
      this.#log.push(`${this.#name} is asked to end${ending.aborted ? '' : ', to be started again'}`);
      this.end(143);
    });
    this.#running.resolve();
    return this.#ended.promise;
  }

  isStarted(): void {
    this.#started.resolve();
  }

  end(code: number): void {
    this.#hasEnded = true;
    this.#log.push(`${this.#name} ends`);
    this.#ended.resolve(code);
  }
}

describe('the containers of a pod', () => {
  let log: Log;
  let proxy: FakeContainer;
  let first: FakeContainer;
  let logs: FakeContainer;
  let app: FakeContainer;
  let stop: AbortController;
  let codes: Promise<readonly number[]>;

  beforeEach(() => {
    log = [];
    [proxy, first, logs, app] = [
      new FakeContainer('proxy', log, true),
      new FakeContainer('first', log),
      new FakeContainer('logs', log, true),
      new FakeContainer('app', log),
    ];
    stop = new AbortController();
    codes = runInOrder(
      {
        init: [proxy, first, logs],
        containers: [app],
        restartPolicy: 'Always',
        onInitialized: () => log.push('initialized'),
        onEnding: () => log.push('ending'),
      },
      stop.signal,
    );
    codes.catch(() => {});
  });

  async function startAll(): Promise<void> {
    proxy.isStarted();
    await first.running;
    first.end(0);
    await logs.running;
    logs.isStarted();
    await app.running;
  }

  it('start one after the other, a native sidecar letting the next one begin once it has started', async () => {
    await proxy.running;
    expect(log).to.deep.equal(['proxy begins: Always']);
    await startAll();
    expect(log).to.deep.equal([
      'proxy begins: Always',
      'first begins: OnFailure',
      'first ends',
      'logs begins: Always',
      'initialized',
      'app begins: Always',
    ]);
  });

  it('end with the native sidecars after all others, the last one first, when the application has ended', async () => {
    await startAll();
    log.length = 0;
    app.end(3);
    expect(await codes).to.deep.equal([3]);
    expect(log).to.deep.equal(['app ends', 'ending', 'logs is asked to end', 'logs ends', 'proxy is asked to end', 'proxy ends']);
  });

  it('end in the same order when the pod is deleted', async () => {
    await startAll();
    log.length = 0;
    stop.abort();
    await codes;
    expect(log.filter((line) => line !== 'ending')).to.deep.equal([
      'app is asked to end',
      'app ends',
      'logs is asked to end',
      'logs ends',
      'proxy is asked to end',
      'proxy ends',
    ]);
    expect(log[0]).to.equal('ending');
  });

  it('end without the application when an init container fails', async () => {
    proxy.isStarted();
    await first.running;
    first.end(1);
    expect(await codes).to.deep.equal([1]);
    expect(log.slice(-3)).to.deep.equal(['ending', 'proxy is asked to end', 'proxy ends']);
  });

  it('end when the pod is deleted before the first native sidecar has started', async () => {
    stop.abort();
    expect(await codes.catch(({ code }) => code)).to.equal('cancelled');
    expect(log.slice(-2)).to.deep.equal(['proxy is asked to end', 'proxy ends']);
  });
});
