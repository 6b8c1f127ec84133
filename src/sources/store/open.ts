import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesClient } from '../../io/kubernetes/client.ts';
import { isInCluster } from '../../io/kubernetes/in-cluster.ts';
import { openInCluster, openKubeconfig } from '../../io/kubernetes/open-client.ts';
import type { Duration } from '../../lib/duration.ts';
import { MeshError, type Problem } from '../../lib/errors.ts';
import { groupOf, type Kinds } from '../../model/kinds.ts';
import type { KubeObject } from '../../model/object.ts';
import { validateObject } from '../../model/parse/validate.ts';
import { DirectoryStore } from './directory.ts';
import { KubernetesStore } from './kubernetes/kubernetes-store.ts';
import type { ObjectStore } from './object-store.ts';
import type { ValidateObject } from './stored-object.ts';

export interface OpenStoreDeps {
  /** The flag that the path was given with, for messages: `--orchconfig`. */
  readonly flag: string;
  readonly kinds: Kinds;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What a relative path is relative to. */
  readonly cwd: string;
  readonly now: () => Date;
  readonly newUid: () => string;
  /** Default: the parsers of model/parse. */
  readonly validate?: ValidateObject;
  /** How often everything is read anew, whatever the store was told of changes. */
  readonly resync?: Duration;
  readonly onProblem?: (problems: readonly Problem[]) => void;
}

/** A store, and what is wrong with what it holds right now. */
export interface OpenedStore extends ObjectStore {
  problems(): readonly Problem[];
  /** `file:line` where an object is defined; undefined for one that is gone, and in stores without files. */
  placeOf?(object: KubeObject): string | undefined;
  /** The API server behind it, for what is asked of one and is no object; undefined for other stores. */
  readonly client?: KubernetesClient;
}

/**
 * Opens the store that a "path to the client configuration" names: a directory of manifests, a kubeconfig, or nothing in a pod, which
 * has a configuration of its own; `fs://PATH` and `k8s://PATH` say which a path is meant to be. Throws MeshError `usage`, naming the
 * flag, for a path that is no store.
 */
export function openStore(path: string, deps: OpenStoreDeps): OpenedStore {
  const target = parseTarget(path, deps);
  if (target.path === '') {
    if (target.type === 'directory' || !isInCluster(deps.env)) throw withoutPath(target.type, deps);
    return openKubernetesStore(openInCluster(deps), deps);
  }
  const root = resolve(deps.cwd, target.path);
  const isDirectory = isDirectoryAt(root, deps.flag);
  if (target.type === 'kubernetes' && isDirectory) throw usage(`${deps.flag}: ${root} is a directory, not a kubeconfig`);
  if (target.type === 'directory' && !isDirectory) throw usage(`${deps.flag}: ${root} is not a directory`);
  return isDirectory ? directoryStore(root, deps) : openKubernetesStore(openKubeconfig(root, deps), deps);
}

function directoryStore(root: string, deps: OpenStoreDeps): OpenedStore {
  const { flag: _, env: __, cwd: ___, ...options } = deps;
  return new DirectoryStore({ validate: validateBy(deps.kinds), ...options, root });
}

/** A store on an API server that a client leads to, which is closed with it. */
export function openKubernetesStore(
  client: KubernetesClient,
  { kinds, validate, resync, onProblem }: Pick<OpenStoreDeps, 'kinds' | 'validate' | 'resync' | 'onProblem'>,
): OpenedStore {
  return new KubernetesStore({
    client,
    kinds,
    validate: validate ?? validateBy(kinds),
    sleep: (time, signal) => sleep(time, undefined, { signal }),
    elapsed: () => performance.now(),
    random: Math.random,
    ...(resync === undefined ? {} : { resync }),
    ...(onProblem === undefined ? {} : { onProblem }),
  });
}

function validateBy(kinds: Kinds): ValidateObject {
  const authentication = { group: groupOf(kinds.policy), apiVersion: kinds.policy.apiVersion };
  return (object) => validateObject(object, { authentication });
}

type Target = { readonly type: 'any' | 'directory' | 'kubernetes'; readonly path: string };

function parseTarget(path: string, { flag }: OpenStoreDeps): Target {
  if (path.startsWith('fs://')) return { type: 'directory', path: path.slice('fs://'.length) };
  if (path.startsWith('k8s://')) return { type: 'kubernetes', path: path.slice('k8s://'.length) };
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path))
    throw usage(`${flag}: ${path} is neither fs://<directory> nor k8s://<path to client config>`);
  return { type: 'any', path };
}

function withoutPath(type: Target['type'], { flag }: OpenStoreDeps): MeshError {
  if (type === 'directory') return usage(`${flag}: fs:// names no directory`);
  return usage(`${flag} is required outside a cluster: give a kubeconfig or a directory of manifests`);
}

function isDirectoryAt(path: string, flag: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw usage(`${flag}: ${path} ${code === 'ENOENT' ? 'does not exist' : `cannot be read: ${code}`}`, error);
  }
}

function usage(message: string, cause?: unknown): MeshError {
  return new MeshError('usage', message, cause);
}
