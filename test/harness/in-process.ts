/** Runs a component in this process, with its output kept. */
import { PassThrough } from 'node:stream';
import type { FlagTable, Invocation } from '../../src/flags/table.ts';
import type { Host } from '../../src/io/host.ts';
import { namesFor } from '../../src/lib/names.ts';

type Run<T extends FlagTable> = (invocation: Invocation<T>, host: Host) => Promise<number>;

export class InProcess {
  readonly exit: Promise<number>;
  readonly #stop = new AbortController();
  readonly #output = new PassThrough();
  #log = '';

  constructor(exit: (host: Host) => Promise<number>) {
    this.#output.on('data', (chunk: Buffer) => {
      this.#log += chunk.toString();
    });
    this.exit = exit({
      env: {},
      stdin: process.stdin,
      stdout: this.#output,
      stderr: this.#output,
      cwd: process.cwd(),
      signal: this.#stop.signal,
      names: namesFor('mesh.io'),
      now: () => new Date(),
    });
    this.exit.catch(() => {});
  }

  /** Resolves when `ready` stands in the log; rejects with what the component rejects with. */
  static async start<T extends FlagTable>(
    run: Run<T>,
    flags: T,
    options: Readonly<Record<string, unknown>>,
    ready: string,
  ): Promise<InProcess> {
    const defaults = Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, flag.default]));
    const invocation = { options: { ...defaults, ...options }, given: new Set(Object.keys(options)), args: [] };
    const component = new InProcess((host) => run(invocation as unknown as Invocation<T>, host));
    await Promise.race([component.logged(ready), component.exit]);
    return component;
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
