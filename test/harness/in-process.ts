/** Runs a component in this process, with its output kept. */
import { PassThrough } from 'node:stream';
import type { FlagTable, Invocation } from '../../src/flags/table.ts';
import type { Host } from '../../src/io/host.ts';
import { namesFor } from '../../src/lib/names.ts';

type Run<T extends FlagTable> = (invocation: Invocation<T>, host: Host) => Promise<number>;

export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  readonly now?: () => Date;
  /** Values of flags that nobody gives. */
  readonly defaults?: Readonly<Record<string, unknown>>;
}

export class InProcess {
  readonly exit: Promise<number>;
  readonly #stop = new AbortController();
  readonly #output = new PassThrough();
  #log = '';

  constructor(exit: (host: Host) => Promise<number>, { env = {}, now = () => new Date() }: Surroundings = {}) {
    this.#output.on('data', (chunk: Buffer) => {
      this.#log += chunk.toString();
    });
    this.exit = exit({
      env,
      stdin: process.stdin,
      stdout: this.#output,
      stderr: this.#output,
      cwd: process.cwd(),
      signal: this.#stop.signal,
      names: namesFor(env['MESH_DOMAIN'] ?? 'mesh.io'),
      now,
    });
    this.exit.catch(() => {});
  }

  /** Starts a component and waits for nothing. */
  static begin<T extends FlagTable>(
    run: Run<T>,
    flags: T,
    options: Readonly<Record<string, unknown>>,
    surroundings: Surroundings = {},
  ): InProcess {
    const defaults = Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, flag.default]));
    const all = { ...defaults, ...surroundings.defaults, ...options };
    const invocation = { options: all, given: new Set(Object.keys(options)), args: [] };
    return new InProcess((host) => run(invocation as unknown as Invocation<T>, host), surroundings);
  }

  /** Resolves when `ready` stands in the log; rejects with what the component rejects with. */
  static start<T extends FlagTable>(
    run: Run<T>,
    flags: T,
    options: Readonly<Record<string, unknown>>,
    ready: string,
  ): Promise<InProcess> {
    return InProcess.begin(run, flags, options).when(ready);
  }

  /** Resolves when a text stands in the log; rejects with what the component rejects with. */
  async when(ready: string): Promise<this> {
    await Promise.race([this.logged(ready), this.exit]);
    return this;
  }

  /** Resolves when a text stands in the log. */
  async logged(text: string): Promise<void> {
    while (!this.#log.includes(text)) await new Promise((resolve) => this.#output.once('data', resolve));
  }

  get log(): string {
    return this.#log;
  }

  /** Stops it as SIGTERM does; the exit code. */
  stop(): Promise<number> {
    this.#stop.abort();
    return this.exit;
  }
}
