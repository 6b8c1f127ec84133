import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Duration } from '../../lib/duration.ts';
import { MeshError, type Problem } from '../../lib/errors.ts';
import { groupOf, type Kinds } from '../../model/kinds.ts';
import { validateObject } from '../../model/parse/validate.ts';
import { DirectoryStore } from './directory.ts';
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
  readonly resync?: Duration;
  readonly onProblem?: (problems: readonly Problem[]) => void;
}

/** A store, and what is wrong with what it holds right now. */
export interface OpenedStore extends ObjectStore {
  problems(): readonly Problem[];
}

/**
 * Opens the store that a "path to the client configuration" names: a directory of manifests; `fs://PATH` and `k8s://PATH` say which
 * of both a path is meant to be. Throws MeshError `usage`, naming the flag, for a path that is no store.
 */
export function openStore(path: string, deps: OpenStoreDeps): OpenedStore {
  const target = parseTarget(path);
  if (target.path === '') throw withoutPath(target.type, deps);
  const root = resolve(deps.cwd, target.path);
  const isDirectory = isDirectoryAt(root, deps.flag);
  if (target.type === 'kubernetes' || !isDirectory) {
    if (target.type === 'directory') throw usage(`${deps.flag}: ${root} is not a directory`);
    throw usage(`${deps.flag}: ${root} ${isDirectory ? 'is a directory, not' : 'is taken for'} ${KUBECONFIG}`);
  }
  const { flag: _, env: __, cwd: ___, ...options } = deps;
  return new DirectoryStore({ validate: validateBy(deps.kinds), ...options, root });
}

function validateBy(kinds: Kinds): ValidateObject {
  const authentication = { group: groupOf(kinds.policy), apiVersion: kinds.policy.apiVersion };
  return (object) => validateObject(object, { authentication });
}

const KUBECONFIG =
  'a client configuration of Kubernetes, which is not supported by this build yet; give a directory of manifests';

type Target = { readonly type: 'any' | 'directory' | 'kubernetes'; readonly path: string };

function parseTarget(path: string): Target {
  if (path.startsWith('fs://')) return { type: 'directory', path: path.slice('fs://'.length) };
  if (path.startsWith('k8s://')) return { type: 'kubernetes', path: path.slice('k8s://'.length) };
  return { type: 'any', path };
}

function withoutPath(type: Target['type'], { flag, env }: OpenStoreDeps): MeshError {
  if (type === 'directory') return usage(`${flag}: fs:// names no directory`);
  if ((env.KUBERNETES_SERVICE_HOST ?? '') !== '') {
    return usage(
      `${flag} is empty, which means the configuration in the cluster: not supported by this build yet; give a directory of manifests`,
    );
  }
  return usage(`${flag} is required outside a cluster: give a directory of manifests`);
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
