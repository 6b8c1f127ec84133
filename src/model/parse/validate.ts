import type { Problem } from '../../lib/errors.ts';
import { DEFAULT_MESH_CONFIG } from '../mesh-config.ts';
import type { KubeObject } from '../object.ts';
import { parseMeshConfig } from './mesh-config.ts';
import { parseMeshPolicy } from './mesh-policy.ts';
import { isMapping } from './object.ts';
import { parsePolicy } from './policy.ts';
import type { AuthenticationNames } from './policy-envelope.ts';

/** The ConfigMap, and its key, that the mesh configuration is in. */
export const MESH_CONFIG_MAP = { name: 'mesh', key: 'mesh' } as const;

/**
 * Everything that the parser of an object's kind finds wrong with it, beyond what all kinds have in common: what a store refuses at
 * the door. Kinds without a parser of their own have nothing to be wrong here.
 */
export function validateObject(object: KubeObject, names: AuthenticationNames): readonly Problem[] {
  switch (object.kind) {
    case 'Policy': {
      const parsed = parsePolicy(object, names);
      return parsed.ok ? [] : parsed.problems;
    }
    case 'MeshPolicy': {
      const parsed = parseMeshPolicy(object, names);
      return parsed.ok ? [] : parsed.problems;
    }
    case 'ConfigMap':
      return validateMeshConfigMap(object);
    default:
      return [];
  }
}

/** The lines of problems inside the text count from its own first line, so they go into the message. */
function validateMeshConfigMap({ metadata, data }: KubeObject): readonly Problem[] {
  const isOurs = metadata.name === MESH_CONFIG_MAP.name && metadata.namespace === DEFAULT_MESH_CONFIG.rootNamespace;
  const text = isMapping(data) ? data[MESH_CONFIG_MAP.key] : undefined;
  if (!isOurs || typeof text !== 'string') return [];
  const parsed = parseMeshConfig(text);
  if (parsed.ok) return [];
  return parsed.problems.map(({ path, line, message }) => {
    const place = [line === undefined ? '' : `line ${line}`, path].filter((part) => part !== '').join(': ');
    return { path: `data.${MESH_CONFIG_MAP.key}`, message: place === '' ? message : `${place}: ${message}` };
  });
}
