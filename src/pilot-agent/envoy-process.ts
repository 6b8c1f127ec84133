import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { MeshError } from '../lib/errors.ts';

/** How a proxy ended. */
export interface ProxyExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A running proxy. */
export interface ProxyProcess {
  readonly pid: number;
  readonly exited: Promise<ProxyExit>;
  kill(signal: 'SIGTERM' | 'SIGKILL'): void;
}

export type StartProxy = () => Promise<ProxyProcess>;

/** Part of util-linux, which Debian's and Ubuntu's images all have. */
const SETPRIV = '/usr/bin/setpriv';

/** Rejects with a MeshError that names the flag when the binary cannot be run. */
export async function requireBinary(path: string): Promise<void> {
  await access(path, constants.X_OK).catch((cause: NodeJS.ErrnoException) => {
    const reason = cause.code === 'ENOENT' ? 'does not exist' : 'cannot be executed';
    throw new MeshError(
      'not_found',
      `the proxy binary ${path} (--binaryPath) ${reason}; install Envoy there or name another path`,
      cause,
    );
  });
}

/**
 * Whether a proxy can be tied to the agent's life. A killed agent cannot end its proxy, and a proxy without an agent would go
 * on with certificates that nobody renews: the kernel kills it then (PR_SET_PDEATHSIG, set by setpriv before it becomes Envoy).
 */
export async function canTieToParent(): Promise<boolean> {
  return access(SETPRIV, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** Starts the proxy with the agent's environment and more variables; its output goes where the agent's goes. */
export async function startEnvoy(
  binary: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>>,
  output: { readonly stdout: Writable; readonly stderr: Writable },
  tied: boolean,
): Promise<ProxyProcess> {
  await requireBinary(binary);
  // A session of its own: Ctrl-C in a terminal reaches the whole group, and would end the proxy before it is drained.
  const env = { ...process.env, ...variables };
  const child = tied
    ? spawn(SETPRIV, ['--pdeathsig', 'KILL', '--', binary, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    : spawn(binary, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.pipe(output.stdout, { end: false });
  child.stderr.pipe(output.stderr, { end: false });
  await started(child, binary);
  return {
    pid: child.pid ?? 0,
    exited: new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal }))),
    kill: (signal) => void child.kill(signal),
  };
}

function started(child: ChildProcess, binary: string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause) =>
      reject(new MeshError('failed_precondition', `cannot run the proxy ${binary}: ${cause.message}`, cause)),
    );
  });
}
