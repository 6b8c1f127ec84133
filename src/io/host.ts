import type { Readable, Writable } from 'node:stream';
import type { Names } from '../lib/names.ts';

/** What a component may touch of the process it runs in; every component's `run` gets one. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly cwd: string;
  /** Aborted by the first SIGTERM or SIGINT: stop gracefully. */
  readonly signal: AbortSignal;
  readonly names: Names;
  readonly now: () => Date;
}
