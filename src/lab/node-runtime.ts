import { existsSync, realpathSync, statSync } from 'node:fs';
import type { Host } from '../io/host.ts';
import type { Logger } from '../io/log/logger.ts';
import type { Duration } from '../lib/duration.ts';
import type { Cluster } from './cluster.ts';
import { backEndImages } from './kubelet/back-end-images.ts';
import { meshProgram } from './kubelet/mesh-program.ts';
import type { HostFiles } from './kubelet/mount-plan.ts';
import { keysOf } from './kubelet/object-keys.ts';
import type { NodeRuntime } from './kubelet/runtime.ts';
import type { LabPaths } from './paths.ts';
import { findProgram, type Tools } from './tools.ts';

export interface NodeRuntimeParts {
  readonly cluster: Cluster;
  readonly tools: Tools;
  readonly paths: LabPaths;
  readonly host: Host;
  /** What `--image` said: image -> command line. */
  readonly mappedImages: () => Readonly<Record<string, string>>;
  readonly token: NodeRuntime['token'];
  /** What every container gets beside PATH. */
  readonly environment: Readonly<Record<string, string>>;
  readonly domain: string;
  readonly logger: Logger;
  readonly random: () => number;
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
}

const BASE_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** What `mesh` reads from the environment that a pod's manifest does not give. */
const PASSED_ON = ['MESH_DOMAIN'];

/** Whether the lab runs in a user namespace, as the launch script tells the daemon. */
export function isRootless(env: Host['env']): boolean {
  return env['MESH_LAB_ROOTLESS'] === '1';
}

/** Joins what pods need of the node from the cluster's objects and the machine. */
export function nodeRuntime(parts: NodeRuntimeParts): NodeRuntime {
  const { cluster, host } = parts;
  const path = host.env['PATH'] ?? BASE_PATH;
  const env = Object.fromEntries(PASSED_ON.flatMap((name) => (host.env[name] ? [[name, host.env[name]]] : [])));
  return {
    ...parts,
    rootless: isRootless(host.env),
    hostFiles: { resolve: resolveHostFile },
    images: () => ({
      mapped: new Map(Object.entries(parts.mappedImages())),
      hostHas: (program) => findProgram(program, path) !== undefined,
      backEnds: backEndImages(host.env, { program: (name) => findProgram(name, path), exists: existsSync }),
    }),
    mesh: meshProgram(env),
    baseEnvironment: { PATH: path, HOME: '/root', ...parts.environment },
    keys: (namespace, source, name) => {
      const object = cluster.find(source, namespace, name);
      return object === undefined ? undefined : keysOf(object);
    },
    now: host.now,
  };
}

const resolveHostFile: HostFiles['resolve'] = (path) => {
  try {
    const real = realpathSync(path);
    return { path: real, type: statSync(real).isDirectory() ? 'directory' : 'file' };
  } catch {
    return undefined;
  }
};
