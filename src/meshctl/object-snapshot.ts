/** A snapshot of the mesh from raw objects, wherever they come from. */
import type { Parsed, Problem } from '../lib/errors.ts';
import type { Names } from '../lib/names.ts';
import { DEFAULT_MESH_CONFIG, type MeshConfig } from '../model/mesh-config.ts';
import type { KubeObject } from '../model/object.ts';
import { parseEndpointSlice } from '../model/parse/endpoint-slice.ts';
import { parseMeshConfig } from '../model/parse/mesh-config.ts';
import { parseMeshPolicy } from '../model/parse/mesh-policy.ts';
import { isMapping } from '../model/parse/object.ts';
import { parsePolicy } from '../model/parse/policy.ts';
import { parseService } from '../model/parse/service.ts';
import { MESH_CONFIG_MAP } from '../model/parse/validate.ts';
import { parseWorkload } from '../model/parse/workload.ts';
import { nextSnapshot, type Snapshot } from '../model/snapshot.ts';

/** The kinds that a snapshot is made from. */
export const SNAPSHOT_KINDS = ['policy', 'meshPolicy', 'service', 'endpointSlice', 'pod', 'configMap'] as const;

export type SnapshotObjects = Readonly<Record<(typeof SNAPSHOT_KINDS)[number], readonly KubeObject[]>>;

export interface ObjectSnapshotOptions {
  readonly names: Names;
  /** DNS suffix of service names. */
  readonly domain: string;
  /** Where the mesh configuration is; absent: `mesh-system`. */
  readonly rootNamespace?: string;
  /** Absent: what the ConfigMap says, or the default mesh. */
  readonly mesh?: MeshConfig;
  /** Is told of everything that keeps an object from being used. */
  readonly onProblem: (object: KubeObject, problem: Problem) => void;
}

export function snapshotFrom(objects: SnapshotObjects, options: ObjectSnapshotOptions): Snapshot {
  const { names, domain, onProblem } = options;
  const parseAll = <T>(raw: readonly KubeObject[], parse: (object: KubeObject) => Parsed<T>): readonly T[] =>
    raw.flatMap((object) => usable(object, parse(object), onProblem));
  const policies = parseAll(objects.policy, (object) => parsePolicy(object, names));
  const meshPolicies = parseAll(objects.meshPolicy, (object) => parseMeshPolicy(object, names));
  return nextSnapshot(undefined, {
    mesh: options.mesh ?? meshConfigOf(objects.configMap, options),
    domain,
    services: parseAll(objects.service, (object) => parseService(object, { domain })),
    endpointSlices: parseAll(objects.endpointSlice, parseEndpointSlice),
    workloads: parseAll(objects.pod, (object) => parseWorkload(object, names)),
    policies: [...policies, ...meshPolicies],
    jwks: new Map(),
  });
}

function usable<T>(object: KubeObject, parsed: Parsed<T>, onProblem: ObjectSnapshotOptions['onProblem']): readonly T[] {
  if (parsed.ok) return [parsed.value];
  for (const problem of parsed.problems) onProblem(object, problem);
  return [];
}

function meshConfigOf(
  maps: readonly KubeObject[],
  { rootNamespace = DEFAULT_MESH_CONFIG.rootNamespace, onProblem }: ObjectSnapshotOptions,
): MeshConfig {
  const map = maps.find(({ metadata }) => metadata.name === MESH_CONFIG_MAP.name && metadata.namespace === rootNamespace);
  const text = isMapping(map?.data) ? map.data[MESH_CONFIG_MAP.key] : undefined;
  if (map === undefined || typeof text !== 'string') return DEFAULT_MESH_CONFIG;
  return usable(map, parseMeshConfig(text), onProblem)[0] ?? DEFAULT_MESH_CONFIG;
}
