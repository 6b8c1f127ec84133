import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { MeshError } from '../lib/errors.ts';

export interface CommandResult {
  /** 128 + the signal's number if a signal ended it, as a shell counts. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly input?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Kills the command after so long. */
  readonly timeoutMs?: number | undefined;
}

/** Runs a command to its end and gives what it printed. Throws `unavailable` when it cannot be started, `cancelled`, `deadline_exceeded`. */
export function runCommand(program: string, args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const { promise, resolve, reject } = Promise.withResolvers<CommandResult>();
  const child = spawn(program, args, {
    stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    ...(options.env === undefined ? {} : { env: options.env }),
    ...(options.signal === undefined ? {} : { signal: options.signal, killSignal: 'SIGKILL' as const }),
    ...(options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs, killSignal: 'SIGKILL' as const }),
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  child.stdin?.on('error', () => {}).end(options.input);
  child.on('error', (error) => {
    reject(
      new MeshError(options.signal?.aborted ? 'cancelled' : 'unavailable', `running ${program} failed: ${error.message}`, error),
    );
  });
  child.on('close', (code, signal) => {
    if (code !== null) resolve({ code, ...output });
    else if (child.killed && !options.signal?.aborted)
      reject(new MeshError('deadline_exceeded', `${program} did not end in time`));
    else resolve({ code: exitCodeOf(code, signal), ...output });
  });
  return promise;
}

/** Like runCommand, for commands that must succeed: throws `internal` with what the command complained about. */
export async function requireCommand(program: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await runCommand(program, args, options);
  if (code !== 0) throw new MeshError('internal', `${program} ${args.join(' ')} failed: ${stderr.trim() || `exit code ${code}`}`);
  return stdout;
}

/** Exit code as a shell tells it. */
export function exitCodeOf(code: number | null, signal: NodeJS.Signals | null): number {
  if (code !== null) return code;
  return 128 + (signal === null ? 0 : constants.signals[signal]);
}
