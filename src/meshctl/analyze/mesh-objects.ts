import type { Kinds } from '../../model/kinds.ts';
import { describeObject, type KubeObject } from '../../model/object.ts';
import { mergeRules, onlyFileRules, type RuleSet } from './rule-set.ts';

/** The kinds that analysis looks at. */
export const ANALYSED_KINDS = [
  'namespace',
  'service',
  'pod',
  'configMap',
  'secret',
  'endpointSlice',
  'deployment',
  'mutatingWebhookConfiguration',
  'validatingWebhookConfiguration',
  'policy',
  'meshPolicy',
] as const satisfies readonly (keyof Kinds)[];

export type AnalysedKind = (typeof ANALYSED_KINDS)[number];

export type MeshObjects = Readonly<Record<AnalysedKind, readonly KubeObject[]>>;

/** Objects by kind, whatever they come from, and what is not known of them. */
export interface ObjectSet {
  readonly objects: MeshObjects;
  /** What mixs reads. */
  readonly rules: RuleSet;
  /** Kinds whose objects could not be read: that one of them is missing proves nothing. */
  readonly unread: ReadonlySet<AnalysedKind>;
  /** Kinds that the API server does not serve. */
  readonly unserved: readonly AnalysedKind[];
  /** Whether webhooks admit its pods, as in Kubernetes. */
  readonly isCluster: boolean;
}

/** The set as it would be after the files were applied: their objects in the place of those there are. */
export function mergeObjects(live: ObjectSet, files: MeshObjects, fileRules: readonly KubeObject[] = []): ObjectSet {
  const merged = ANALYSED_KINDS.map((kind): [AnalysedKind, readonly KubeObject[]] => {
    const before = new Map(live.objects[kind].map((object) => [describeObject(object), object]));
    for (const object of files[kind]) before.set(describeObject(object), updated(object, before.get(describeObject(object))));
    return [kind, [...before.values()]];
  });
  return { ...live, objects: Object.fromEntries(merged) as MeshObjects, rules: mergeRules(live.rules, fileRules) };
}

/** A policy keeps its age when it is changed, and what controllers wrote stays. */
function updated(object: KubeObject, stored: KubeObject | undefined): KubeObject {
  if (stored === undefined) return object;
  const { creationTimestamp } = stored.metadata;
  const metadata = { ...object.metadata, ...(creationTimestamp === undefined ? {} : { creationTimestamp }) };
  return { ...object, metadata, ...(stored.status === undefined ? {} : { status: stored.status }) };
}

export const NO_OBJECTS: MeshObjects = Object.fromEntries(ANALYSED_KINDS.map((kind) => [kind, []])) as unknown as MeshObjects;

/** Files alone: of what they do not speak nothing is known. */
export function onlyFiles(files: MeshObjects, rules: readonly KubeObject[] = []): ObjectSet {
  const unread = new Set(ANALYSED_KINDS.filter((kind) => files[kind].length === 0));
  return { objects: files, rules: onlyFileRules(rules), unread, unserved: [], isCluster: false };
}
