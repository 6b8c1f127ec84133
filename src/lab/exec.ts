import { type ChildProcess, spawn } from 'node:child_process';
import { MeshError } from '../lib/errors.ts';
import { joinContainerArguments } from './join-container.ts';
import type { LabPaths } from './paths.ts';
import { findPod, parseTarget } from './pod-target.ts';
import { type CommandOptions, type CommandResult, exitCodeOf, runCommand } from './run-command.ts';
import { type RunState, requireLab } from './run-state.ts';
import type { Tools } from './tools.ts';

export interface ExecTarget {
  /** `POD-OR-DEPLOYMENT[.NS]` */
  readonly target: string;
  /** Given apart from the target; empty if not. */
  readonly namespace: string;
  /** Empty: the pod's first one of its own. */
  readonly container: string;
}

interface JoinCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Runs a command in a container with this process's own standard streams and gives its exit code. */
export async function execAttached(
  paths: LabPaths,
  target: ExecTarget,
  command: readonly string[],
  tools: Tools,
  term: string | undefined,
): Promise<number> {
  const { program, args, env } = joinCommand(paths, target, command, tools);
  const child = spawn(program, args, { stdio: 'inherit', env: { ...env, ...(term === undefined ? {} : { TERM: term }) } });
  // A terminal sends its signals to the command too, which decides what becomes of them.
  const ignore = (): void => {};
  process.on('SIGINT', ignore).on('SIGQUIT', ignore);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', (error) =>
        reject(new MeshError('unavailable', `the container cannot be joined: ${error.message}`, error)),
      );
      child.once('exit', (code, signal) => resolve(exitCodeOf(code, signal)));
    });
  } finally {
    process.off('SIGINT', ignore).off('SIGQUIT', ignore);
  }
}

/** Runs a command in a container and gives what it printed. */
export function execCaptured(
  paths: LabPaths,
  target: ExecTarget,
  command: readonly string[],
  tools: Tools,
  options: Omit<CommandOptions, 'env'>,
): Promise<CommandResult> {
  const { program, args, env } = joinCommand(paths, target, command, tools);
  return runCommand(program, args, { ...options, env });
}

/** Starts a command in a container, with pipes for its standard streams. */
export function execStarted(paths: LabPaths, target: ExecTarget, command: readonly string[], tools: Tools): ChildProcess {
  const { program, args, env } = joinCommand(paths, target, command, tools);
  return spawn(program, args, { stdio: 'pipe', env });
}

/** Runs a command in the node's network, where the control plane listens. */
export function execOnNode(
  paths: LabPaths,
  command: readonly string[],
  tools: Tools,
  options: CommandOptions,
): Promise<CommandResult> {
  return runCommand(tools.nsenter, [...enterLab(requireLab(paths)), '--', ...command], options);
}

function joinCommand(
  paths: LabPaths,
  { target, namespace, container }: ExecTarget,
  command: readonly string[],
  tools: Tools,
): JoinCommand {
  const state = requireLab(paths);
  const { pod, run, namespace: found } = findPod(paths, parseTarget(target, namespace));
  const name = container || run.defaultContainer;
  const running = run.containers[name];
  if (running === undefined) {
    const others = Object.keys(run.containers);
    const hint = others.length === 0 ? 'none of its containers runs' : `its running containers are ${others.join(', ')}`;
    throw new MeshError(
      'failed_precondition',
      `container "${name}" of pod ${found}/${pod} does not run; ${hint}; see: mesh lab status`,
    );
  }
  const args = [...enterLab(state), '--', tools.nsenter, ...joinContainerArguments(running.pid, running.context, command, tools)];
  return { program: tools.nsenter, args, env: running.context.env };
}

/** Arguments of nsenter; only the lab's first process needs to be known outside. */
function enterLab({ init, rootless }: RunState): readonly string[] {
  return ['-t', `${init.pid}`, ...(rootless ? ['--user', '--preserve-credentials'] : []), '--mount', '--net', '--pid'];
}
