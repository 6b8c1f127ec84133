import type { Protocol } from './protocol.ts';

export interface ServicePort {
  /** May be empty when the service has one port. */
  readonly name: string;
  readonly number: number;
  /** Port of the workload, or the name of a container port. */
  readonly targetPort: number | string;
  readonly protocol: Protocol;
}

/** A Kubernetes Service, parsed. */
export interface Service {
  readonly namespace: string;
  readonly name: string;
  /** `httpbin.foo.svc.cluster.local` */
  readonly hostname: string;
  /** Virtual addresses; empty for a headless service and one of an external name. */
  readonly addresses: readonly string[];
  /** The host that it stands for (type ExternalName): DNS says where that is, and it has no endpoints. */
  readonly externalName?: string;
  /** Absent: the endpoints are written by somebody else. */
  readonly selector: Readonly<Record<string, string>> | undefined;
  /** Sorted by number. */
  readonly ports: readonly ServicePort[];
}

/** Whether callers choose among the addresses of its endpoints themselves. */
export function isHeadless(service: Pick<Service, 'addresses' | 'externalName'>): boolean {
  return service.addresses.length === 0 && service.externalName === undefined;
}

/** `httpbin.foo` as people write it. */
export function describeService(service: Pick<Service, 'name' | 'namespace'>): string {
  return `${service.name}.${service.namespace}`;
}

/** Whether labels satisfy a selector; an empty selector selects everything. */
export function selects(selector: Readonly<Record<string, string>>, labels: Readonly<Record<string, string>>): boolean {
  for (const key in selector) if (labels[key] !== selector[key]) return false;
  return true;
}
