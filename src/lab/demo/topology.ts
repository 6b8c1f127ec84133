/** The workloads of examples/reference that the scenario calls, and who calls them. */

/** Namespaces with clients and servers; the pods of `legacy` have no sidecar. */
export const NAMESPACES = ['foo', 'bar', 'legacy'] as const;
export type Namespace = (typeof NAMESPACES)[number];

/** Namespaces whose pods have a sidecar. */
export const SIDECAR_NAMESPACES: readonly Namespace[] = ['foo', 'bar'];

/** The workload in each namespace that calls; its service account has the same name. */
export const CLIENT = 'sleep';

export const SERVICES = [
  { service: 'httpbin', ports: [8000, 1234] },
  { service: 'other', ports: [8000] },
] as const;
export type Service = (typeof SERVICES)[number]['service'];

/** One port of one server. */
export interface Target {
  readonly namespace: Namespace;
  readonly service: Service;
  readonly port: number;
}

export const TARGETS: readonly Target[] = NAMESPACES.flatMap((namespace) =>
  SERVICES.flatMap(({ service, ports }) => ports.map((port) => ({ namespace, service, port }))),
);

export function hasSidecar(namespace: Namespace): boolean {
  return SIDECAR_NAMESPACES.includes(namespace);
}

/** `httpbin.foo` */
export function hostOf({ service, namespace }: Pick<Target, 'service' | 'namespace'>): string {
  return `${service}.${namespace}`;
}
