import { formatProblem, type Parsed } from '../lib/errors.ts';
import type { Names } from '../lib/names.ts';
import { kindsFor } from '../model/kinds.ts';
import { DEFAULT_MESH_CONFIG, type MeshConfig } from '../model/mesh-config.ts';
import { describeObject, type KubeObject } from '../model/object.ts';
import { parseEndpointSlice } from '../model/parse/endpoint-slice.ts';
import { parseMeshConfig } from '../model/parse/mesh-config.ts';
import { parseMeshPolicy } from '../model/parse/mesh-policy.ts';
import { isMapping } from '../model/parse/object.ts';
import { parsePolicy } from '../model/parse/policy.ts';
import { parseService } from '../model/parse/service.ts';
import { MESH_CONFIG_MAP } from '../model/parse/validate.ts';
import { parseWorkload } from '../model/parse/workload.ts';
import { nextSnapshot, type Snapshot } from '../model/snapshot.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';

export interface SnapshotOptions {
  readonly names: Names;
  /** DNS suffix of service names. */
  readonly domain: string;
  /** Absent: what the store's ConfigMap says, or the default mesh. */
  readonly mesh?: MeshConfig;
  /** Is told of every object that cannot be used. */
  readonly onProblem: (message: string) => void;
}

/** The mesh as it is in a store right now. */
export async function snapshotOf(store: ObjectStore, options: SnapshotOptions): Promise<Snapshot> {
  const kinds = kindsFor(options.names);
  const parseAll = <T>(objects: readonly KubeObject[], parse: (object: KubeObject) => Parsed<T>): readonly T[] =>
    objects.flatMap((object) => usable(object, parse(object), options.onProblem));
  const policies = parseAll(await store.list(kinds.policy), (object) => parsePolicy(object, options.names));
  const meshPolicies = parseAll(await store.list(kinds.meshPolicy), (object) => parseMeshPolicy(object, options.names));
  return nextSnapshot(undefined, {
    mesh: options.mesh ?? (await meshConfigOf(store, options)),
    domain: options.domain,
    services: parseAll(await store.list(kinds.service), (object) => parseService(object, { domain: options.domain })),
    endpointSlices: parseAll(await store.list(kinds.endpointSlice), parseEndpointSlice),
    workloads: parseAll(await store.list(kinds.pod), (object) => parseWorkload(object, options.names)),
    policies: [...policies, ...meshPolicies],
    jwks: new Map(),
  });
}

function usable<T>(object: KubeObject, parsed: Parsed<T>, onProblem: (message: string) => void): readonly T[] {
  if (parsed.ok) return [parsed.value];
  for (const problem of parsed.problems) onProblem(`${describeObject(object)}: ${formatProblem(problem)}`);
  return [];
}

async function meshConfigOf(store: ObjectStore, { names, onProblem }: SnapshotOptions): Promise<MeshConfig> {
  const maps = await store.list(kindsFor(names).configMap, DEFAULT_MESH_CONFIG.rootNamespace);
  const map = maps.find(({ metadata }) => metadata.name === MESH_CONFIG_MAP.name);
  const text = isMapping(map?.data) ? map.data[MESH_CONFIG_MAP.key] : undefined;
  if (map === undefined || typeof text !== 'string') return DEFAULT_MESH_CONFIG;
  return usable(map, parseMeshConfig(text), onProblem)[0] ?? DEFAULT_MESH_CONFIG;
}
