import { mkdirSync } from 'node:fs';
import { formatProblem, MeshError } from '../../lib/errors.ts';
import { podLogDirectory } from '../paths.ts';
import { type ContainerProcess, startContainer } from './container-process.ts';
import { containerScript } from './container-script.ts';
import { containerEnvironment } from './environment.ts';
import { expandReferences } from './expand.ts';
import { type ImageProgram, imageProgram } from './image.ts';
import { LogFile } from './log-file.ts';
import { type BindMount, planMounts } from './mount-plan.ts';
import type { ContainerSpec } from './pod-spec.ts';
import { setprivArguments } from './privileges.ts';
import { fieldOf, memoryPaths, type RunningPod } from './running-pod.ts';
import type { NodeRuntime } from './runtime.ts';

/** What a command needs to join a running container, for `lab exec` and exec probes. */
export interface ContainerContext {
  readonly env: Readonly<Record<string, string>>;
  readonly workingDir: string;
  /** Arguments of setpriv. */
  readonly privileges: readonly string[];
}

export interface LaunchedContainer {
  readonly context: ContainerContext;
  readonly process: ContainerProcess;
}

let runs = 0;

/** Starts a container's program once. Throws `invalid` when its manifest names what does not exist. */
export function launchContainer(pod: RunningPod, spec: ContainerSpec, runtime: NodeRuntime): LaunchedContainer {
  const declared = declaredEnvironment(pod, spec, runtime);
  const expand = (text: string): string => expandReferences(text, declared);
  const program = imageProgram({ ...spec, command: spec.command?.map(expand), args: spec.args.map(expand) }, runtime.images());
  const context: ContainerContext = {
    env: {
      ...runtime.baseEnvironment,
      HOSTNAME: pod.spec.hostname ?? pod.name,
      ...programEnvironment(program, runtime),
      ...Object.fromEntries(declared),
    },
    workingDir: spec.workingDir ?? '/',
    privileges: setprivArguments(spec.user, runtime.rootless),
  };
  const argv = programArgv(program, runtime);
  const scratch = `${memoryPaths.scratch(pod.uid)}/${spec.name}.${++runs}`;
  mkdirSync(`${runtime.paths.memory}/${scratch}`, { recursive: true });
  const script = containerScript(
    {
      memory: runtime.paths.memory,
      scratch,
      plan: planMounts(
        [...ownBinds(pod), ...programBinds(program, runtime), ...volumeBinds(pod, spec, runtime)],
        runtime.hostFiles,
      ),
      workingDir: context.workingDir,
      program: argv[0] ?? '',
      argv: [runtime.tools.setpriv, ...context.privileges, '--', ...argv],
    },
    {
      mount: runtime.tools.mount,
      umount: runtime.tools.umount,
      mkdir: runtime.tools.mkdir,
      cp: runtime.tools.cp,
      pivotRoot: runtime.tools.pivot_root,
    },
  );
  const log = new LogFile(`${podLogDirectory(runtime.paths, pod.namespace, pod.name)}/${spec.name}.log`);
  const process = startContainer({ sandboxPid: pod.sandboxPid, script, env: context.env, log }, runtime.tools);
  void process.exited.then(() => log.close());
  return { context, process };
}

function declaredEnvironment(pod: RunningPod, spec: ContainerSpec, runtime: NodeRuntime): ReadonlyMap<string, string> {
  const decoder = new TextDecoder();
  const environment = containerEnvironment(spec, {
    keys: (source, name) => {
      const keys = runtime.keys(pod.namespace, source, name);
      return keys && new Map([...keys].map(([key, bytes]) => [key, decoder.decode(bytes)]));
    },
    field: fieldOf(pod),
  });
  if (environment.ok) return environment.value;
  throw new MeshError('invalid', environment.problems.map(formatProblem).join('; '));
}

function programEnvironment(program: ImageProgram, { mesh }: NodeRuntime): Readonly<Record<string, string>> {
  return program.type === 'mesh' ? mesh.env : {};
}

function programBinds(program: ImageProgram, { mesh }: NodeRuntime): readonly BindMount[] {
  return program.type === 'mesh' ? mesh.binds : [];
}

function programArgv(program: ImageProgram, { mesh }: NodeRuntime): readonly string[] {
  return program.type === 'mesh' ? [...mesh.argv, ...program.args] : program.argv;
}

/** What makes names resolve in the pod. */
function ownBinds({ uid }: RunningPod): readonly BindMount[] {
  return [
    { source: memoryPaths.hosts(uid), target: '/etc/hosts', type: 'file', readOnly: false },
    { source: memoryPaths.resolvConf, target: '/etc/resolv.conf', type: 'file', readOnly: true },
  ];
}

function volumeBinds(pod: RunningPod, spec: ContainerSpec, { paths, hostFiles }: NodeRuntime): readonly BindMount[] {
  return spec.volumeMounts.map(({ volume, path, subPath, readOnly }) => {
    const origin = pod.spec.volumes.find(({ name }) => name === volume)?.source;
    const base = origin?.type === 'hostPath' ? origin.path : memoryPaths.volume(pod.uid, volume);
    const source = subPath === undefined ? base : `${base}/${subPath}`;
    const onHost = source.startsWith('/') ? source : `${paths.memory}/${source}`;
    // As the kubelet: a directory that a subPath names is made in an empty volume.
    if (origin?.type === 'emptyDir' && subPath !== undefined) mkdirSync(onHost, { recursive: true });
    const found = hostFiles.resolve(onHost);
    if (found === undefined)
      throw new MeshError('invalid', `volume "${volume}" of container "${spec.name}": ${source} does not exist`);
    return { source, target: path, type: found.type, readOnly: readOnly || origin?.type === 'projected' };
  });
}
