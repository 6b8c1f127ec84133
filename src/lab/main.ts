import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import { MeshError } from '../lib/errors.ts';
import type {
  applyFlags,
  daemonFlags,
  downFlags,
  envFlags,
  execFlags,
  logsFlags,
  statusFlags,
  upFlags,
  uplinkFlags,
} from './flags.ts';
import { labDirectory, labPaths } from './paths.ts';

/** Commands of `mesh lab`. Each loads what it needs itself, so that `exec` starts fast. */

/** `lab up`: starts a lab and waits until its control plane serves. */
export async function runUp({ options }: Invocation<typeof upFlags>, host: Host): Promise<number> {
  const [{ parseImageMapping }, { nodeSettings }] = await Promise.all([
    import('./kubelet/image.ts'),
    import('./node/settings.ts'),
  ]);
  const images = options.image.map(parseImageMapping);
  const node = nodeSettings(options, (path) => resolve(host.cwd, path));
  if (node !== undefined && options.filename.length > 0)
    throw new MeshError(
      'usage',
      '-f is of a lab that is a cluster of its own; apply to the cluster of --orchconfig with kubectl',
    );
  const lab = await openLab(options.dir, host);
  const progress = say(host);
  try {
    const manifests = options.filename.length === 0 ? [] : await load(options.filename, '', host);
    const started = await lab.up({ wait: options.wait, timeout: options.timeout, node }, progress);
    if (node !== undefined) {
      progress(started ? `node ${node.name} is up in ${lab.paths.dir}` : `a lab is already up in ${lab.paths.dir}`);
      return 0;
    }
    progress(started ? `lab is up in ${lab.paths.dir}` : `a lab is already up in ${lab.paths.dir}`);
    await lab.mapImages(images);
    if (manifests.length > 0) await lab.apply(manifests, progress);
    if (options.wait) await lab.waitReady(options.timeout, progress);
    return 0;
  } finally {
    await lab.close();
  }
}

/** `lab apply`: stores manifests and waits until their pods are ready. */
export async function runApply({ options }: Invocation<typeof applyFlags>, host: Host): Promise<number> {
  if (options.filename.length === 0)
    throw new MeshError('usage', 'nothing to apply; name a file or directory of manifests by -f');
  const { parseImageMapping } = await import('./kubelet/image.ts');
  const images = options.image.map(parseImageMapping);
  const lab = await openLab(options.dir, host);
  const progress = say(host);
  try {
    const manifests = await load(options.filename, options.namespace, host);
    await lab.mapImages(images);
    await lab.apply(manifests, progress);
    if (options.wait) await lab.waitReady(options.timeout, progress);
    return 0;
  } finally {
    await lab.close();
  }
}

/** `lab exec`: the command's own exit code. */
export async function runExec({ options, args }: Invocation<typeof execFlags>, host: Host): Promise<number> {
  const [target = '', ...command] = args;
  const [{ execAttached }, { findTools }] = await Promise.all([import('./exec.ts'), import('./tools.ts')]);
  const { namespace, container } = options;
  return execAttached(
    pathsOf(options.dir, host),
    { target, namespace, container },
    command,
    findTools(host.env['PATH']),
    host.env['TERM'],
  );
}

/** `lab status`: the pods and the control plane. */
export async function runStatus({ options }: Invocation<typeof statusFlags>, host: Host): Promise<number> {
  const [{ labStatus, statusTable }, { requireLab }] = await Promise.all([import('./status.ts'), import('./run-state.ts')]);
  requireLab(pathsOf(options.dir, host));
  const lab = await openLab(options.dir, host);
  try {
    const status = await labStatus(lab.store, lab.health(), host);
    host.stdout.write(options.output === 'json' ? `${JSON.stringify(status, undefined, 2)}\n` : statusTable(status));
    return 0;
  } finally {
    await lab.close();
  }
}

/** `lab logs`: what a container has printed. */
export async function runLogs({ options, args }: Invocation<typeof logsFlags>, host: Host): Promise<number> {
  const { printLogs } = await import('./logs.ts');
  const [target = ''] = args;
  const { namespace, container, follow } = options;
  await printLogs(pathsOf(options.dir, host), { target, namespace, container }, follow, host);
  return 0;
}

/** `lab env`: shell commands that make the other tools work on this lab. */
export async function runEnv({ options }: Invocation<typeof envFlags>, host: Host): Promise<number> {
  const [{ quote }, { runningLab }] = await Promise.all([import('./kubelet/container-script.ts'), import('./run-state.ts')]);
  const paths = pathsOf(options.dir, host);
  const objects = runningLab(paths)?.cluster?.kubeconfig ?? paths.store;
  host.stdout.write(`export MESH_LAB_DIR=${quote(paths.dir)}\nexport MESH_ORCHCONFIG=${quote(objects)}\n`);
  return 0;
}

/** `lab down`: ends the lab; its objects stay for the next `up` unless they are purged. */
export async function runDown({ options }: Invocation<typeof downFlags>, host: Host): Promise<number> {
  const lab = await openLab(options.dir, host);
  const ran = await lab.down(options.purge, say(host));
  say(host)(ran ? `lab in ${lab.paths.dir} is down` : `no lab was running in ${lab.paths.dir}`);
  return 0;
}

/** `lab daemon`: the process behind a running lab; ends the lab when it ends. */
export async function runDaemon({ options }: Invocation<typeof daemonFlags>, host: Host): Promise<number> {
  const [{ runLabDaemon }, { runNodeDaemon }, { nodeSettings }, { watchOwnership }, { lineLogger }, { meshInstallation }] =
    await Promise.all([
      import('./daemon.ts'),
      import('./node/daemon.ts'),
      import('./node/settings.ts'),
      import('./abandonment.ts'),
      import('./line-logger.ts'),
      import('./mesh-command.ts'),
    ]);
  const paths = pathsOf(options.dir, host);
  const installation = meshInstallation(fileURLToPath(import.meta.url), process.execPath);
  const logger = lineLogger(host.stdout, host.now);
  const ownership = watchOwnership(paths, logger);
  const signal = AbortSignal.any([host.signal, ownership.lost]);
  try {
    const settings = nodeSettings(options, (path) => resolve(host.cwd, path));
    if (settings === undefined) await runLabDaemon({ paths, installation, host: { ...host, signal }, logger });
    else await runNodeDaemon({ paths, settings, host: { ...host, signal }, logger });
  } finally {
    ownership.stop();
  }
  if (ownership.holds()) rmSync(paths.runState, { force: true });
  return 0;
}

/** `lab uplink`: the process by which a node reaches its API server; ends with the node. */
export async function runUplink({ options }: Invocation<typeof uplinkFlags>, host: Host): Promise<number> {
  const { runUplinkRelay } = await import('./node/uplink.ts');
  await runUplinkRelay(pathsOf(options.dir, host).uplink, options.orchconfig, host);
  return 0;
}

async function openLab(dir: string, host: Host) {
  const { Lab } = await import('./client.ts');
  return new Lab(pathsOf(dir, host).dir, host);
}

async function load(filenames: readonly string[], namespace: string, host: Host) {
  const [{ readManifests }, { allKinds }] = await Promise.all([import('./manifests.ts'), import('../rules/config/kinds.ts')]);
  const { cwd, stdin, names } = host;
  return readManifests(filenames, { kinds: allKinds(names), namespace: namespace || 'default', cwd, stdin });
}

function pathsOf(dir: string, { env, cwd }: Host) {
  return labPaths(labDirectory(dir, env, cwd));
}

function say(host: Host): (line: string) => void {
  return (line) => void host.stdout.write(`${line}\n`);
}
