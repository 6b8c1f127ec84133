/** Reads what is to be analysed: a store, files, or the store as it would be with the files. */
import type { Host } from '../../io/host.ts';
import { isInCluster } from '../../io/kubernetes/in-cluster.ts';
import { formatProblem, MeshError } from '../../lib/errors.ts';
import { kindsFor } from '../../model/kinds.ts';
import type { KubeObject } from '../../model/object.ts';
import { isMapping } from '../../model/parse/object.ts';
import { KubernetesStore } from '../../sources/store/kubernetes/kubernetes-store.ts';
import type { OpenedStore } from '../../sources/store/open.ts';
import { withStore } from '../session.ts';
import { ANALYSED_KINDS, type AnalysedKind, type MeshObjects, mergeObjects, type ObjectSet, onlyFiles } from './mesh-objects.ts';
import { ownObjects } from './own-objects.ts';
import { podsOfTemplates } from './pod-templates.ts';
import { type FileObjects, readFileObjects } from './read-files.ts';
import { readRules } from './read-rules.ts';

export interface LoadOptions {
  readonly orchconfig: string;
  readonly filenames: readonly string[];
  /** The one looked at; empty: all. */
  readonly namespace: string;
}

export interface Loaded {
  /** The store without the files; undefined when there is no store. */
  readonly live: ObjectSet | undefined;
  /** What is analysed. */
  readonly merged: ObjectSet;
  readonly files: FileObjects | undefined;
  /** Pods that workloads would make where no controller has made them. */
  readonly templates: readonly KubeObject[];
  /** What could not be read, and what that means for the answer. */
  readonly notes: readonly string[];
}

/** Throws MeshError `usage` when there is neither a store nor a file, and what reading either throws. */
export async function loadMesh({ orchconfig, filenames, namespace }: LoadOptions, host: Host): Promise<Loaded> {
  const files = filenames.length === 0 ? undefined : await readFileObjects(filenames, namespace, host);
  const skipped = files === undefined || files.skipped === 0 ? [] : [`${files.skipped} objects of other kinds are not looked at`];
  if (files !== undefined && orchconfig === '' && !isInCluster(host.env)) {
    const note = 'only the files are looked at; --orchconfig (or MESH_ORCHCONFIG) names the mesh that they are for';
    return {
      live: undefined,
      merged: onlyFiles(files.objects, files.rules),
      files,
      templates: files.pods,
      notes: [note, ...skipped],
    };
  }
  return withStore(orchconfig, host, async (store) => {
    const { set, notes } = await readStore(store, namespace, host);
    const merged = files === undefined ? set : mergeObjects(set, files.objects, files.rules);
    // Where nothing makes pods, as in a plain directory, those that the workloads stand for are taken.
    const planned = set.objects.pod.length > 0 || set.isCluster ? [] : set.objects.deployment.flatMap(plannedPods);
    const broken = store.problems().map(formatProblem);
    return {
      live: set,
      merged,
      files,
      templates: [...planned, ...(files?.pods ?? [])],
      notes: [...notes, ...broken, ...skipped],
    };
  });
}

function plannedPods(deployment: KubeObject): readonly KubeObject[] {
  try {
    return podsOfTemplates(deployment, deployment.metadata.namespace ?? 'default');
  } catch {
    // A store may hold a Deployment that nobody could run: it makes no pods.
    return [];
  }
}

async function readStore(
  store: OpenedStore,
  namespace: string,
  host: Host,
): Promise<{ readonly set: ObjectSet; readonly notes: readonly string[] }> {
  const kinds = kindsFor(host.names);
  const isCluster = store instanceof KubernetesStore;
  const unread = new Set<AnalysedKind>();
  const unserved: AnalysedKind[] = [];
  const notes: string[] = [];
  const lists = ANALYSED_KINDS.map(async (name): Promise<[AnalysedKind, readonly KubeObject[]]> => {
    try {
      return [name, (await store.list(kinds[name])).map(withoutKeys)];
    } catch (thrown) {
      const { code, message } = MeshError.from(thrown);
      if (code !== 'permission_denied' && code !== 'not_found') throw thrown;
      unread.add(name);
      if (code === 'not_found') unserved.push(name);
      else notes.push(`${message}; findings that need them are left out`);
      const own = code === 'permission_denied' && namespace !== '' && kinds[name].namespaced;
      return [name, own ? (await ownObjects(store, kinds[name], namespace)).map(withoutKeys) : []];
    }
  });
  const [read, { rules, note }] = await Promise.all([Promise.all(lists), readRules(store, namespace, host.names)]);
  const objects = Object.fromEntries(read) as unknown as MeshObjects;
  notes.push(...(note === undefined ? [] : [`${note}; findings that need them are left out`]));
  return { set: { objects, rules, unread, unserved, isCluster }, notes: notes.sort() };
}

/** Private keys go no further than this: nothing that is analysed needs them. */
function withoutKeys(object: KubeObject): KubeObject {
  if (object.kind !== 'Secret' || !isMapping(object.data)) return object;
  const data = Object.entries(object.data).filter(([name]) => /cert|chain|root/.test(name) && !/key/.test(name));
  return { ...object, data: Object.fromEntries(data) };
}

/** Whether an object comes from the files. */
export function isFromFiles(files: FileObjects | undefined, subject: string): boolean {
  return files?.placeOf(subject, '') !== undefined;
}
