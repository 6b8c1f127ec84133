import { MeshError } from '../lib/errors.ts';
import type { SidecarOverlay } from './overlay.ts';
import { annotationsOf, labelsOf, NAMED_LISTS, type NamedItem, type NamedList, type PodManifest, type PodSpec } from './pod.ts';
import { isRecord, isStringMap, type JsonObject, type Labels } from './shape.ts';

/** What the status annotation says: which parts of the pod injection added, so that injecting again can replace them. */
export interface InjectionStatus {
  /** Hash of the template. */
  readonly version: string;
  /** Names of the items added to each list. */
  readonly lists: Readonly<Record<NamedList, readonly string[]>>;
  /** What was added of these, with its value: a value that somebody has changed since is no longer injection's. */
  readonly fields: InjectedFields;
}

export type InjectedFields = Pick<SidecarOverlay, 'annotations' | 'labels' | 'securityContext'>;

/** The annotation's text. Empty lists are null, as users' scripts know it; empty mappings are left out. */
export function printStatus({ version, lists, fields }: InjectionStatus): string {
  return JSON.stringify({
    version,
    ...Object.fromEntries(NAMED_LISTS.map((list) => [list, lists[list].length === 0 ? null : lists[list]])),
    ...Object.fromEntries(Object.entries(fields).filter(([, added]) => Object.keys(added).length > 0)),
  });
}

/** Throws MeshError `invalid` when the annotation is not what injection writes. */
export function parseStatus(text: string, title: string): InjectionStatus {
  const value = parseJson(text);
  const wrong = new MeshError('invalid', `${title} is not what injection writes there; remove the annotation`);
  if (!isRecord(value) || typeof value['version'] !== 'string') throw wrong;
  const names = (list: NamedList): readonly string[] => {
    const items = value[list] ?? [];
    if (!Array.isArray(items) || !items.every((item) => typeof item === 'string')) throw wrong;
    return items;
  };
  const texts = (field: 'annotations' | 'labels'): Labels => {
    const added = value[field] ?? {};
    if (!isStringMap(added)) throw wrong;
    return added;
  };
  const securityContext = value['securityContext'] ?? {};
  if (!isRecord(securityContext)) throw wrong;
  return {
    version: value['version'],
    lists: {
      initContainers: names('initContainers'),
      containers: names('containers'),
      volumes: names('volumes'),
      imagePullSecrets: names('imagePullSecrets'),
    },
    fields: { annotations: texts('annotations'), labels: texts('labels'), securityContext },
  };
}

/** The pod as it was before the injection that the status tells of. */
export function withoutInjected(pod: PodManifest, { lists, fields }: InjectionStatus): PodManifest {
  const spec: Record<string, unknown> = { ...pod.spec };
  for (const list of NAMED_LISTS) {
    const items = pod.spec[list];
    if (items) spec[list] = items.filter((item: NamedItem) => !lists[list].includes(item.name));
  }
  if (pod.spec.securityContext) spec['securityContext'] = without(pod.spec.securityContext, fields.securityContext);
  const annotations = without(annotationsOf(pod), fields.annotations);
  const labels = without(labelsOf(pod), fields.labels);
  const metadata = { ...pod.metadata, annotations, ...(pod.metadata?.labels ? { labels } : {}) };
  return { ...pod, metadata, spec: spec as unknown as PodSpec };
}

/** What of `added` the object does not have itself: what injection adds to it. */
export function missing<T extends JsonObject>(object: JsonObject, added: T): T {
  return Object.fromEntries(Object.entries(added).filter(([name]) => !Object.hasOwn(object, name))) as T;
}

function without<T extends JsonObject>(object: T, added: JsonObject): T {
  const isAdded = ([name, value]: [string, unknown]) =>
    Object.hasOwn(added, name) && JSON.stringify(added[name]) === JSON.stringify(value);
  return Object.fromEntries(Object.entries(object).filter((entry) => !isAdded(entry))) as T;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
