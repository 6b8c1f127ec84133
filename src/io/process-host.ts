import { DEFAULT_DOMAIN, namesFor } from '../lib/names.ts';
import type { Host } from './host.ts';

/** What is needed of the process; `process` itself in production. */
export interface ProcessLike {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  cwd(): string;
  on(event: 'SIGTERM' | 'SIGINT' | 'SIGHUP', listener: (signal: NodeJS.Signals) => void): unknown;
  exit(code: number): never;
}

const STOP_SIGNALS = { SIGTERM: 15, SIGINT: 2, SIGHUP: 1 } as const;
/** A signal sent to a whole process group can arrive twice; only a later one means "at once". */
const SAME_SIGNAL_MS = 200;

/**
 * The host of a real process. The first SIGTERM, SIGINT or SIGHUP aborts its signal, a second one exits at once with
 * 128 + the signal's number, as a shell reports it. A reader that went away (EPIPE) stops the component too.
 */
export function processHost(process: ProcessLike, now: () => Date = () => new Date()): Host {
  const abort = new AbortController();
  let firstAt: number | undefined;
  for (const [name, number] of Object.entries(STOP_SIGNALS)) {
    process.on(name as keyof typeof STOP_SIGNALS, () => {
      const at = now().getTime();
      firstAt ??= at;
      if (abort.signal.aborted && at - firstAt > SAME_SIGNAL_MS) process.exit(128 + number);
      abort.abort();
    });
  }
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    abort.abort();
  });
  return {
    env: process.env,
    get stdin() {
      return process.stdin;
    },
    stdout: process.stdout,
    stderr: process.stderr,
    cwd: process.cwd(),
    signal: abort.signal,
    names: namesFor(process.env['MESH_DOMAIN'] || DEFAULT_DOMAIN),
    now,
  };
}
