import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 20;

/** One life of a program after the other. The kernel ends it with the test, however that ends. */
export class BackEndProgram {
  readonly #argv: readonly [program: string, ...args: string[]];
  #child: ChildProcess | undefined;

  constructor(argv: readonly [program: string, ...args: string[]]) {
    this.#argv = argv;
  }

  /** Resolves when it is up. `onSpawn` gets the process before that. */
  async start(
    options: SpawnOptions,
    isUp: () => Promise<boolean>,
    onSpawn: (child: ChildProcess) => void = () => {},
  ): Promise<void> {
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...this.#argv], options);
    this.#child = child;
    onSpawn(child);
    while (!(await isUp())) {
      if (child.exitCode !== null) throw new Error(`${this.#argv[0]} ended with ${child.exitCode}`);
      await sleep(POLL_MS);
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}
