import { createHash } from 'node:crypto';
import { formatProblem, MeshError, type Problem } from '../../lib/errors.ts';
import type { Kinds } from '../../model/kinds.ts';
import type { KubeObject, ObjectMeta, ObjectRef, ResourceKind } from '../../model/object.ts';
import { type KindedObject, parseObject } from '../../model/parse/object.ts';

/** Says what is wrong with an object beyond what all kinds have in common; the parsers of model/parse stand behind it. */
export type ValidateObject = (object: KubeObject) => readonly Problem[];

/** Where an object is found: kind, namespace and name. */
export function keyOf(kind: ResourceKind, metadata: Pick<ObjectMeta, 'namespace' | 'name'>): string {
  return `${kind.apiVersion}/${kind.kind}/${kind.namespaced ? (metadata.namespace ?? '') : ''}/${metadata.name}`;
}

export function refOf({ kind, object }: KindedObject): ObjectRef {
  const { name, namespace } = object.metadata;
  return kind.namespaced && namespace !== undefined ? { kind, namespace, name } : { kind, name };
}

/**
 * Takes an object in for storing: checks it, gives it its namespace, and copies it, so that nothing the caller does later changes
 * what is stored. Throws MeshError `invalid` with every problem.
 */
export function admit(object: KubeObject, kinds: Kinds, validate: ValidateObject | undefined): KindedObject {
  const copy: unknown = JSON.parse(JSON.stringify(object));
  const parsed = parseObject(copy, kinds);
  const problems = parsed.ok ? (validate?.(parsed.value.object) ?? []) : parsed.problems;
  if (!parsed.ok || problems.length > 0) {
    const name = `${object.kind} ${object.metadata?.name ?? '(no name)'}`;
    throw new MeshError('invalid', `${name} is not valid: ${problems.map(formatProblem).join('; ')}`);
  }
  return parsed.value;
}

/** The object without its resourceVersion, and the other fields in the order people write them. */
export function withoutVersion(object: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, ...rest } = object;
  const { name, namespace, resourceVersion: _, ...others } = metadata;
  return { apiVersion, kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }), ...others }, ...rest };
}

/** The object with the resourceVersion that its content has: equal content, equal version. */
export function withVersion(object: KubeObject): KubeObject {
  const plain = withoutVersion(object);
  const resourceVersion = createHash('sha256').update(canonical(plain)).digest('hex').slice(0, 20);
  return { ...plain, metadata: { ...plain.metadata, resourceVersion } };
}

/** JSON whose keys are sorted, so that the order they were written in makes no difference. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** A new object as it is stored first. */
export function stampNew(object: KubeObject, uid: string, now: Date): KubeObject {
  const creationTimestamp = now.toISOString().replace(/\.\d+Z$/, 'Z');
  return withVersion({ ...object, metadata: { ...object.metadata, uid, creationTimestamp } });
}

/**
 * What a replacement is stored as: uid and creationTimestamp stay those of the stored object. Throws `conflict` when it was made
 * from another version than the stored one.
 */
export function stampReplacement(object: KubeObject, stored: KubeObject): KubeObject {
  const expected = object.metadata.resourceVersion;
  if (expected !== undefined && expected !== '' && expected !== stored.metadata.resourceVersion) {
    const name = `${object.kind} ${object.metadata.namespace === undefined ? '' : `${object.metadata.namespace}/`}${object.metadata.name}`;
    throw new MeshError('conflict', `${name} was changed by somebody else; read it again and repeat the change on that`);
  }
  const { uid, creationTimestamp, ...metadata } = object.metadata;
  const kept = {
    ...(stored.metadata.uid === undefined ? {} : { uid: stored.metadata.uid }),
    ...(stored.metadata.creationTimestamp === undefined ? {} : { creationTimestamp: stored.metadata.creationTimestamp }),
  };
  return withVersion({ ...object, metadata: { ...metadata, ...kept } });
}
