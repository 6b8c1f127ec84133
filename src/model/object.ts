/** Kubernetes-shaped objects: everything declarative in the mesh is one of these. */

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  /** RFC 3339. */
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly ownerReferences?: readonly OwnerReference[];
}

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  /** What else the kind has; read through the parsers of model/parse only. */
  readonly [field: string]: unknown;
}

/** A kind of object, as the API names it. */
export interface ResourceKind {
  /** `v1`, `apps/v1`, `authentication.mesh.io/v1alpha1`. */
  readonly apiVersion: string;
  readonly kind: string;
  /** Lower-case plural: `services`, `policies`. */
  readonly plural: string;
  readonly namespaced: boolean;
}

/** Names one object. */
export interface ObjectRef {
  readonly kind: ResourceKind;
  /** Absent for kinds that are not namespaced. */
  readonly namespace?: string;
  readonly name: string;
}

/** `Policy foo/httpbin`, for messages. */
export function describeRef(ref: ObjectRef): string {
  return `${ref.kind.kind} ${ref.namespace === undefined ? '' : `${ref.namespace}/`}${ref.name}`;
}

/** `Policy foo/httpbin`, for messages. */
export function describeObject(object: KubeObject): string {
  const { namespace, name } = object.metadata;
  return `${object.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}
