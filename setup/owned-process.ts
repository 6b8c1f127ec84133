/** Processes that end with the set-up, whatever ends it, and all that they have started with them. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { identify, isRunning } from '../src/lab/process-identity.ts';

const STOPPED_BY = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const;
const LIMIT_MS = 5_000;
const POLL_MS = 20;

/**
 * Starts a program in a process group of its own. A signal that asks this process to end ends the group first, then runs `cleanUp`;
 * where this process is killed without a word, the kernel kills the program.
 */
export function startOwned(program: string, args: readonly string[], options: SpawnOptions, cleanUp: () => void): ChildProcess {
  const stop = (signal: NodeJS.Signals): void => {
    endGroup(child);
    cleanUp();
    process.exit(128 + STOPPED_BY[signal as keyof typeof STOPPED_BY]);
  };
  for (const signal of Object.keys(STOPPED_BY)) process.on(signal, stop);
  // Not before: the program may run, and a signal come, before the next line does.
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', program, ...args], { ...options, detached: true });
  child.once('close', () => {
    for (const signal of Object.keys(STOPPED_BY)) process.off(signal, stop);
  });
  return child;
}

/** Waits without an event loop: this process is about to end. */
export function endGroup({ pid }: ChildProcess): void {
  const leader = pid === undefined ? undefined : identify(pid);
  if (leader === undefined) return;
  try {
    process.kill(-leader.pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
  const deadline = Date.now() + LIMIT_MS;
  const nobody = new Int32Array(new SharedArrayBuffer(4));
  while (isRunning(leader) && Date.now() < deadline) Atomics.wait(nobody, 0, 0, POLL_MS);
}
