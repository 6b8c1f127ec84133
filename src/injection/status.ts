import { MeshError } from '../lib/errors.ts';
import { NAMED_LISTS, type NamedItem, type NamedList, type PodManifest, type PodSpec } from './pod.ts';
import { isRecord } from './shape.ts';

/** What the status annotation says: which items of the pod injection added, so that injecting again can replace them. */
export type InjectionStatus = { readonly version: string } & Readonly<Record<NamedList, readonly string[]>>;

/** The annotation's text. Empty lists are null, as users' scripts know it. */
export function printStatus(status: InjectionStatus): string {
  const lists = NAMED_LISTS.map((list) => [list, status[list].length === 0 ? null : status[list]]);
  return JSON.stringify(Object.fromEntries([['version', status.version], ...lists]));
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
  return {
    version: value['version'],
    initContainers: names('initContainers'),
    containers: names('containers'),
    volumes: names('volumes'),
    imagePullSecrets: names('imagePullSecrets'),
  };
}

/** The pod as it was before the injection that the status tells of, but for the order-independent extras that stay. */
export function withoutInjected(pod: PodManifest, status: InjectionStatus): PodManifest {
  const spec: Record<string, unknown> = { ...pod.spec };
  for (const list of NAMED_LISTS) {
    const items = pod.spec[list];
    if (items) spec[list] = items.filter((item: NamedItem) => !status[list].includes(item.name));
  }
  return { ...pod, spec: spec as unknown as PodSpec };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
