import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { exitCodeOf } from '../run-command.ts';
import type { Tools } from '../tools.ts';
import { NO_PROGRAM_EXIT } from './container-script.ts';
import type { LogFile } from './log-file.ts';

export type ContainerExit =
  /** The program ran and ended. */
  | { readonly type: 'ended'; readonly code: number }
  /** The container could not be set up; the text is what the set-up complained about. */
  | { readonly type: 'not_started'; readonly message: string }
  | { readonly type: 'no_program'; readonly message: string };

/** One run of a container's program. */
export interface ContainerProcess {
  /** The program's process id as the lab sees it; undefined when it never got that far. */
  readonly started: Promise<number | undefined>;
  readonly exited: Promise<ContainerExit>;
  /** To the program itself, as the kubelet does. */
  signal(name: NodeJS.Signals): void;
}

export interface ContainerStart {
  /** Holder of the pod's namespaces. */
  readonly sandboxPid: number;
  readonly script: string;
  readonly env: Readonly<Record<string, string>>;
  readonly log: LogFile;
}

const COMPLAINT_LIMIT = 2_000;

/** Starts a container in its pod's namespaces, with a mount namespace of its own. */
export function startContainer({ sandboxPid, script, env, log }: ContainerStart, tools: Tools): ContainerProcess {
  const enter = [
    '-t',
    `${sandboxPid}`,
    '--net',
    '--uts',
    '--ipc',
    '--pid',
    '--',
    tools.unshare,
    '--mount',
    tools.sh,
    '-c',
    script,
  ];
  // A process group of its own, so that what the program leaves behind ends with it.
  const child = spawn(tools.nsenter, enter, { stdio: ['ignore', 'pipe', 'pipe', 'pipe'], env, detached: true });
  let pid: number | undefined;
  let running = false;
  let complaint = '';
  const { promise: started, resolve: tellStarted } = Promise.withResolvers<number | undefined>();
  child.stdout?.on('data', (chunk: Uint8Array) => log.write(chunk));
  child.stderr?.on('data', (chunk: Uint8Array) => {
    if (!running && complaint.length < COMPLAINT_LIMIT) complaint += new TextDecoder().decode(chunk);
    log.write(chunk);
  });
  readReports(child, (line) => {
    if (line !== 'run') pid = Number(line);
    else {
      running = true;
      tellStarted(pid);
    }
  });
  const exited = new Promise<ContainerExit>((resolve) => {
    child.once('error', (error) => resolve({ type: 'not_started', message: error.message }));
    child.once('exit', (code, signal) => {
      killGroup(child);
      tellStarted(undefined);
      const message = complaint.trim() || `setting up the container failed with exit code ${code}`;
      if (running) resolve({ type: 'ended', code: exitCodeOf(code, signal) });
      else resolve({ type: code === NO_PROGRAM_EXIT ? 'no_program' : 'not_started', message });
    });
  });
  return {
    started,
    exited,
    signal(name) {
      if (pid !== undefined && child.exitCode === null && child.signalCode === null) kill(pid, name);
    },
  };
}

function readReports(child: ChildProcess, onLine: (line: string) => void): void {
  const report = child.stdio[3];
  if (report instanceof Readable) createInterface({ input: report }).on('line', onLine);
}

function killGroup(child: ChildProcess): void {
  if (child.pid !== undefined) kill(-child.pid, 'SIGKILL');
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended by itself.
  }
}
