import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { MeshError } from '../lib/errors.ts';
import { quote } from './kubelet/container-script.ts';
import { MESH_COMMAND, MESH_MOUNTS } from './kubelet/mesh-program.ts';
import { type MeshInstallation, meshArgv } from './mesh-command.ts';
import { endUplink } from './node/end-uplink.ts';
import { type NodeSettings, nodeArguments } from './node/settings.ts';
import type { LabPaths } from './paths.ts';
import { identify, type ProcessIdentity } from './process-identity.ts';
import { lastLab, type RunState } from './run-state.ts';
import type { Tools } from './tools.ts';

export interface LaunchOptions {
  readonly paths: LabPaths;
  readonly installation: MeshInstallation;
  readonly envoy: string;
  readonly rootless: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly tools: Tools;
  /** The lab is to be a node of a real cluster. */
  readonly node?: NodeSettings | undefined;
}

/**
 * Starts a lab: a shell that is the first process of new namespaces, and under it the daemon. Whatever the lab starts lives
 * in those namespaces, so that the kernel removes all of it when the shell ends, in whatever way. The shell waits until
 * its identity is on disk: a lab that nobody knows of does not come to be.
 */
export async function launchLab(options: LaunchOptions): Promise<RunState> {
  const { paths, rootless, tools } = options;
  // That of a lab which was killed a moment ago would take the socket of the new one away at its end.
  await endUplink(lastLab(paths)?.cluster);
  rmSync(paths.run, { recursive: true, force: true });
  for (const directory of [paths.run, paths.memory, paths.store, paths.logs])
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  const log = openSync(`${paths.logs}/lab.log`, 'a', 0o600);
  const uplink = options.node === undefined ? undefined : startUplink(options, options.node, log);
  const namespaces = [...(rootless ? ['--user', '--map-root-user'] : []), '--net', '--mount', '--pid', '--fork', '--kill-child'];
  const child = spawn(tools.unshare, [...namespaces, tools.sh, '-c', initScript(options)], {
    detached: true,
    cwd: '/',
    stdio: ['pipe', log, log, 'pipe', uplink?.stdin ?? 'ignore'],
    env: definedOnly(options.env),
  });
  closeSync(log);
  // From here on the lab alone holds the other end: when it is gone, so is the uplink.
  uplink?.stdin?.destroy();
  try {
    const pid = Number(await firstLine(child, paths));
    const init = identify(pid);
    if (init === undefined) throw new MeshError('unavailable', `the lab ended at its start; see ${paths.logs}/lab.log`);
    const { node } = options;
    const state: RunState = {
      init,
      rootless,
      ...(node === undefined ? {} : { cluster: { kubeconfig: node.kubeconfig, node: node.name, uplink: identified(uplink) } }),
    };
    writeFileSync(paths.runState, JSON.stringify(state), { mode: 0o600 });
    child.stdin?.end('go\n');
    return state;
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  } finally {
    for (const stream of child.stdio) stream?.destroy();
    child.unref();
  }
}

function identified(child: ChildProcess | undefined): ProcessIdentity | undefined {
  return child?.pid === undefined ? undefined : identify(child.pid);
}

/** The uplink is to stay in the machine's own network. */
function startUplink({ paths, installation, env }: LaunchOptions, { kubeconfig }: NodeSettings, log: number): ChildProcess {
  const [program = '', ...args] = [...meshArgv(installation), 'lab', 'uplink', '--dir', paths.dir, '--orchconfig', kubeconfig];
  const child = spawn(program, args, { detached: true, cwd: '/', stdio: ['pipe', log, log], env: definedOnly(env) });
  child.on('error', () => {});
  child.unref();
  return child;
}

function initScript({ paths, installation, envoy, tools, rootless, node }: LaunchOptions): string {
  const { mount, mkdir } = tools;
  const at = (name: keyof typeof MESH_MOUNTS): string => quote(`${paths.memory}/${MESH_MOUNTS[name].memory}`);
  const daemon = [
    ...meshArgv(installation),
    'lab',
    'daemon',
    '--dir',
    paths.dir,
    ...(node === undefined ? [] : nodeArguments(node)),
  ]
    .map(quote)
    .join(' ');
  return `set -e
read -r pid rest </proc/self/stat
echo "$pid" >&3
read -r go
exec 3>&- </dev/null
${mount} -t proc proc /proc
${mount} -t tmpfs -o mode=0755 mesh-lab ${quote(paths.memory)}
${mkdir} ${at('package')}
: >${at('node')}
: >${at('envoy')}
${mount} --rbind ${quote(installation.directory)} ${at('package')}
${mount} --bind ${quote(installation.node)} ${at('node')}
${mount} --bind ${quote(envoy)} ${at('envoy')}
printf %s ${quote(MESH_COMMAND)} >${at('command')}
chmod 755 ${at('command')}
set +e
MESH_LAB_ROOTLESS=${rootless ? '1' : ''} ${daemon} 4>&- &
wait "$!"`;
}

async function firstLine(child: ChildProcess, paths: LabPaths): Promise<string> {
  const failed = new Promise<never>((_, reject) => {
    child.once('error', (error) => reject(new MeshError('unavailable', `the lab cannot be started: ${error.message}`, error)));
  });
  failed.catch(() => {});
  child.stdin?.on('error', () => {});
  const report = child.stdio[3];
  const lines = createInterface({ input: report instanceof Readable ? report : Readable.from([]) })[Symbol.asyncIterator]();
  const { done, value } = await Promise.race([lines.next(), failed]);
  if (done !== true) return value;
  throw new MeshError('failed_precondition', `the lab's namespaces cannot be made; see ${paths.logs}/lab.log`);
}

function definedOnly(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
