/** The mesh configuration: a watched file, or key `mesh` of the ConfigMap `mesh` in the control plane's namespace. */
import { watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { Logger } from '../io/log/logger.ts';
import { formatProblem, MeshError, type Parsed, type Problem } from '../lib/errors.ts';
import type { Names } from '../lib/names.ts';
import { kindsFor } from '../model/kinds.ts';
import { DEFAULT_MESH_CONFIG, type MeshConfig } from '../model/mesh-config.ts';
import type { KubeObject } from '../model/object.ts';
import { parseMeshConfig } from '../model/parse/mesh-config.ts';
import { followKind } from './collection.ts';
import type { ObjectStore } from './store/object-store.ts';

export const MESH_CONFIG_MAP = 'mesh';
const KEY = 'mesh';

export interface MeshConfigSource {
  value(): MeshConfig;
  problems(): readonly Problem[];
  readonly synced: Promise<void>;
}

interface Common {
  readonly onChange: () => void;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Follows the ConfigMap; without it the default mesh is used, with a bad one the last good. */
export function followMeshConfigMap(
  options: Common & { readonly store: ObjectStore; readonly namespace: string; readonly names: Names },
): MeshConfigSource {
  const { namespace } = options;
  const kind = kindsFor(options.names).configMap;
  const maps = followKind({ ...options, kind, parse: (object) => parseConfigMap(object, namespace) });
  return {
    value: () => maps.values().find((config) => config !== undefined) ?? { ...DEFAULT_MESH_CONFIG, rootNamespace: namespace },
    problems: maps.problems,
    synced: maps.synced,
  };
}

function parseConfigMap(object: KubeObject, namespace: string): Parsed<MeshConfig | undefined> {
  if (object.metadata.name !== MESH_CONFIG_MAP) return { ok: true, value: undefined };
  const { data } = object;
  const text = typeof data === 'object' && data !== null ? (data as Readonly<Record<string, unknown>>)[KEY] : undefined;
  if (typeof text !== 'string') {
    return { ok: false, problems: [{ path: `data.${KEY}`, message: 'the mesh configuration (YAML text) is missing' }] };
  }
  const parsed = parseMeshConfig(text);
  return parsed.ok ? { ok: true, value: { ...parsed.value, rootNamespace: namespace } } : parsed;
}

/**
 * Follows a file. A file that is bad at start is an error that names file and line; one that turns bad later is logged and the
 * last good content stays in force.
 */
export async function followMeshConfigFile(
  options: Common & { readonly path: string; readonly namespace: string },
): Promise<MeshConfigSource> {
  const { path, namespace, logger, signal } = options;
  let text = await readConfigFile(path);
  let value = requireMeshConfig(text, path, namespace);
  let problems: readonly Problem[] = [];

  async function reload(): Promise<void> {
    try {
      const fresh = await readConfigFile(path);
      if (fresh === text && problems.length === 0) return;
      value = requireMeshConfig(fresh, path, namespace);
      text = fresh;
      problems = [];
      options.onChange();
    } catch (error) {
      const { message } = MeshError.from(error);
      if (problems[0]?.message === message) return;
      problems = [{ path: '', file: path, message }];
      logger.error('mesh configuration refused; the last good one stays in force', { file: path, problem: message });
    }
  }

  // A mounted ConfigMap changes by a renamed link beside the file, so the folder is watched.
  const watcher = watch(dirname(path), { signal, persistent: false }, (_event, file) => {
    if (file === null || file === basename(path) || file.startsWith('..')) void reload();
  });
  watcher.on('error', (error) =>
    logger.warn('mesh configuration file is not watched any more', { file: path, error: error.message }),
  );
  return { value: () => value, problems: () => problems, synced: Promise.resolve() };
}

async function readConfigFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new MeshError('invalid', `the mesh configuration file ${path} cannot be read: ${MeshError.from(error).message}`, error);
  }
}

function requireMeshConfig(text: string, path: string, namespace: string): MeshConfig {
  const parsed = parseMeshConfig(text);
  if (parsed.ok) return { ...parsed.value, rootNamespace: namespace };
  const problems = parsed.problems.map((problem) => formatProblem({ ...problem, file: path }));
  throw new MeshError('invalid', `the mesh configuration is invalid: ${problems.join('; ')}`);
}
