import { randomUUID } from 'node:crypto';
import { realpathSync, statSync } from 'node:fs';
import type { Host } from '../io/host.ts';
import type { Logger } from '../io/log/logger.ts';
import type { Duration } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import type { Cluster } from './cluster.ts';
import { stringMapOf } from './controllers/pod-view.ts';
import { meshProgram } from './kubelet/mesh-program.ts';
import type { HostFiles } from './kubelet/mount-plan.ts';
import { keysOf } from './kubelet/object-keys.ts';
import { NODE_NAME } from './kubelet/pod-fields.ts';
import type { NodeRuntime } from './kubelet/runtime.ts';
import { renewAfter, type TokenSubject, tokenClaims } from './kubelet/token.ts';
import type { LabPaths } from './paths.ts';
import { IMAGES_CONFIG_MAP, ROOT_NAMESPACE } from './system-objects.ts';
import type { TokenIssuer } from './token-issuer.ts';
import { findProgram, type Tools } from './tools.ts';

export interface NodeRuntimeParts {
  readonly cluster: Cluster;
  readonly tools: Tools;
  readonly paths: LabPaths;
  readonly host: Host;
  readonly issuer: TokenIssuer;
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

/** Joins what pods need of the node from the cluster's objects, the token issuer and the machine. */
export function nodeRuntime(parts: NodeRuntimeParts): NodeRuntime {
  const { cluster, host } = parts;
  const path = host.env['PATH'] ?? BASE_PATH;
  const env = Object.fromEntries(PASSED_ON.flatMap((name) => (host.env[name] ? [[name, host.env[name]]] : [])));
  return {
    ...parts,
    rootless: isRootless(host.env),
    hostFiles: { resolve: resolveHostFile },
    images: () => ({
      mapped: new Map(Object.entries(stringMapOf(cluster.find('configMap', ROOT_NAMESPACE, IMAGES_CONFIG_MAP)?.['data']))),
      hostHas: (program) => findProgram(program, path) !== undefined,
    }),
    mesh: meshProgram(env),
    baseEnvironment: { PATH: path, HOME: '/root' },
    keys: (namespace, source, name) => {
      const object = cluster.find(source, namespace, name);
      return object === undefined ? undefined : keysOf(object);
    },
    token: tokenSource(parts),
    now: host.now,
  };
}

/** A pod gets the same token again until it is time to renew it. */
function tokenSource({ cluster, issuer, host }: NodeRuntimeParts): NodeRuntime['token'] {
  const issued = new Map<string, { readonly token: string; readonly renewAt: number }>();
  return async (subject, account, audience, lifetime) => {
    const object = cluster.find('serviceAccount', subject.namespace, account);
    const uid = object?.metadata.uid;
    if (uid === undefined) throw new MeshError('not_found', `ServiceAccount ${subject.namespace}/${account} does not exist`);
    const now = host.now();
    const key = JSON.stringify([subject.pod.uid, uid, audience, lifetime]);
    const known = issued.get(key);
    if (known !== undefined && now.getTime() < known.renewAt) return known.token;
    const full: TokenSubject = { ...subject, serviceAccount: { name: account, uid } };
    const claims = tokenClaims({
      issuer: issuer.issuer,
      subject: full,
      audience,
      lifetime,
      now,
      id: randomUUID(),
      node: NODE_NAME,
    });
    const token = await issuer.sign(claims);
    for (const [other, { renewAt }] of issued) if (renewAt <= now.getTime()) issued.delete(other);
    issued.set(key, { token, renewAt: now.getTime() + renewAfter(lifetime) });
    return token;
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
