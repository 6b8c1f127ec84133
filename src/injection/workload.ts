import { MeshError } from '../lib/errors.ts';
import { isRecord, type JsonObject } from './shape.ts';

/** The kinds that make pods, by API group (of any version), and where their pod template is. */
const TEMPLATE_PATHS: Readonly<Record<string, readonly string[]>> = {
  '/Pod': [],
  '/ReplicationController': ['spec', 'template'],
  'apps/DaemonSet': ['spec', 'template'],
  'apps/Deployment': ['spec', 'template'],
  'apps/ReplicaSet': ['spec', 'template'],
  'apps/StatefulSet': ['spec', 'template'],
  'batch/CronJob': ['spec', 'jobTemplate', 'spec', 'template'],
  'batch/Job': ['spec', 'template'],
  'extensions/DaemonSet': ['spec', 'template'],
  'extensions/Deployment': ['spec', 'template'],
  'extensions/ReplicaSet': ['spec', 'template'],
};

/** A Pod, or something that makes pods from a template, as it was found in a manifest. */
export interface Workload {
  /** `Deployment foo/httpbin`, for messages. */
  readonly title: string;
  readonly namespace: string;
  /** The pod or pod template, unchecked. */
  readonly pod: unknown;
}

/**
 * Changes the pod templates of an object, which may be a List of objects, and gives the object back: the very same one
 * when no template changed. `change` gives the new pod, or undefined to leave it. Objects without pods pass through.
 * Throws MeshError `invalid` when a workload has no template.
 */
export function mapPods(object: unknown, defaultNamespace: string, change: (workload: Workload) => unknown): unknown {
  if (!isRecord(object)) return object;
  if (object['kind'] === 'List' && Array.isArray(object['items']))
    return mapItems(object, object['items'], defaultNamespace, change);
  const path = TEMPLATE_PATHS[`${groupOf(object['apiVersion'])}/${object['kind']}`];
  if (path === undefined) return object;
  const workload = describeWorkload(object, path, defaultNamespace);
  const pod = change(workload);
  return pod === undefined ? object : replaceAt(object, path, pod);
}

function mapItems(
  list: JsonObject,
  items: readonly unknown[],
  namespace: string,
  change: (workload: Workload) => unknown,
): unknown {
  const mapped = items.map((item) => mapPods(item, namespace, change));
  return mapped.every((item, index) => item === items[index]) ? list : { ...list, items: mapped };
}

function describeWorkload(object: JsonObject, path: readonly string[], defaultNamespace: string): Workload {
  const metadata = isRecord(object['metadata']) ? object['metadata'] : {};
  const namespace = typeof metadata['namespace'] === 'string' ? metadata['namespace'] : defaultNamespace;
  const title = `${object['kind']} ${namespace}/${metadata['name'] ?? metadata['generateName'] ?? '(unnamed)'}`;
  const pod = valueAt(object, path);
  if (!isRecord(pod)) throw new MeshError('invalid', `${title}: ${path.join('.')} must be a pod template`);
  return { title, namespace, pod };
}

/** `apps` of `apps/v1`; empty for `v1`. */
function groupOf(apiVersion: unknown): string {
  return typeof apiVersion === 'string' && apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
}

function valueAt(object: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), object);
}

function replaceAt(object: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const parent = isRecord(object) ? object : {};
  return { ...parent, [key]: replaceAt(parent[key], rest, value) };
}
