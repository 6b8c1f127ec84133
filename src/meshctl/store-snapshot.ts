import { formatProblem } from '../lib/errors.ts';
import type { Names } from '../lib/names.ts';
import { kindsFor } from '../model/kinds.ts';
import { DEFAULT_MESH_CONFIG, type MeshConfig } from '../model/mesh-config.ts';
import { describeObject } from '../model/object.ts';
import type { Snapshot } from '../model/snapshot.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import { snapshotFrom } from './object-snapshot.ts';

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
  const { names, domain, mesh, onProblem } = options;
  const objects = {
    policy: await store.list(kinds.policy),
    meshPolicy: await store.list(kinds.meshPolicy),
    configMap: mesh === undefined ? await store.list(kinds.configMap, DEFAULT_MESH_CONFIG.rootNamespace) : [],
    service: await store.list(kinds.service),
    endpointSlice: await store.list(kinds.endpointSlice),
    pod: await store.list(kinds.pod),
  };
  return snapshotFrom(objects, {
    names,
    domain,
    ...(mesh === undefined ? {} : { mesh }),
    onProblem: (object, problem) => onProblem(`${describeObject(object)}: ${formatProblem(problem)}`),
  });
}
