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
  exitCode?: number | string | null | undefined;
}

const STOP_SIGNALS = { SIGTERM: 15, SIGINT: 2, SIGHUP: 1 } as const;
/** A signal sent to a whole process group can arrive twice; only a later one means "at once". */
const SAME_SIGNAL_MS = 200;
const OUTPUT_LOST = 1;

/**
 * The host of a real process. The first SIGTERM, SIGINT or SIGHUP aborts its signal, a second one exits at once with
 * 128 + the signal's number, as a shell reports it. A reader that went away (EPIPE) stops the component too; output that
 * cannot be written for another reason (a full disk) is lost, which is said once, and makes the exit code 1.
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
    if (error.code === 'EPIPE') abort.abort();
    else reportLoss(process, error);
  });
  // There is nowhere left to say that standard error cannot be written.
  process.stderr.on('error', () => {});
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

/** Says once that output is lost. */
export function reportLoss(process: Pick<ProcessLike, 'exitCode' | 'stderr'>, error: Error): void {
  if (process.exitCode === OUTPUT_LOST) return;
  process.exitCode = OUTPUT_LOST;
  process.stderr.write(`error: standard output cannot be written, it is lost until it can: ${error.message}\n`);
}
