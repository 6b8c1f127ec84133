/** The mesh configuration: a watched file, or key `mesh` of the ConfigMap `mesh` in the control plane's namespace. */
import { followFiles } from '../io/file/follow-files.ts';
import type { Logger } from '../io/log/logger.ts';
import type { Parsed, Problem } from '../lib/errors.ts';
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

/** Follows a file. One that is bad at start is an error; one that turns bad later is logged and the last good content stays in force. */
export async function followMeshConfigFile(
  options: Common & { readonly path: string; readonly namespace: string },
): Promise<MeshConfigSource> {
  const { namespace } = options;
  const parse = ([text = '']: readonly string[]): Parsed<MeshConfig> => {
    const parsed = parseMeshConfig(text);
    return parsed.ok ? { ok: true, value: { ...parsed.value, rootNamespace: namespace } } : parsed;
  };
  const file = await followFiles({ ...options, paths: [options.path], title: 'mesh configuration', parse });
  return { ...file, synced: Promise.resolve() };
}
