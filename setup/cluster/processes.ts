/** The processes of a test cluster: started with a log each, ended by their identity. */
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { identify, isRunning, type ProcessIdentity } from '../../src/lab/process-identity.ts';

const POLL_MS = 20;
const LIMIT_MS = 5_000;

export interface Program {
  readonly name: string;
  readonly path: string;
  readonly args: readonly string[];
}

/** Whether processes outlive the one that starts them. */
export type Lifetime = 'detached' | 'with-parent';

/** Starts a program in a directory, its output in `<name>.log` there. */
export async function start(program: Program, directory: string, lifetime: Lifetime): Promise<ProcessIdentity> {
  const log = openSync(join(directory, `${program.name}.log`), 'a', 0o600);
  // Whatever ends the parent, a crash included, ends them too.
  const wrapper = lifetime === 'with-parent' ? ['setpriv', '--pdeathsig', 'KILL', '--'] : [];
  const [command = program.path, ...args] = [...wrapper, program.path, ...program.args];
  try {
    const child = spawn(command, args, { cwd: directory, stdio: ['ignore', log, log], detached: true });
    await new Promise<void>((started, failed) => child.once('spawn', started).once('error', failed));
    child.unref();
    const identity = child.pid === undefined ? undefined : identify(child.pid);
    if (identity === undefined) throw new Error(`${program.name} ended at once${lastWords(program.name, directory)}`);
    return identity;
  } finally {
    closeSync(log);
  }
}

/** The end of a program's log, for a message. */
export function lastWords(name: string, directory: string): string {
  const path = join(directory, `${name}.log`);
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n').slice(-5);
  return `; the end of its log (${path}):\n${lines.join('\n')}`;
}

/**
 * Ends processes, waiting without an event loop, so that a process that is about to end itself can do it. What they would save at a
 * gentler end is thrown away with the cluster.
 */
export function kill(processes: readonly ProcessIdentity[]): void {
  for (const process of processes) signal(process, 'SIGKILL');
  const deadline = Date.now() + LIMIT_MS;
  const nobody = new Int32Array(new SharedArrayBuffer(4));
  while (processes.some(isRunning) && Date.now() < deadline) Atomics.wait(nobody, 0, 0, POLL_MS);
}

function signal(identity: ProcessIdentity, name: NodeJS.Signals): void {
  if (!isRunning(identity)) return;
  try {
    process.kill(identity.pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
