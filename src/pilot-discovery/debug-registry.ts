/** Services and what is behind them, for `/debug/registryz`, `endpointz` and `endpointShardz`. */
import type { Endpoint, EndpointGroup } from '../model/endpoints.ts';
import { slicePortFor } from '../model/endpoints.ts';
import type { Service, ServicePort } from '../model/service.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { workloadKey } from '../model/workload.ts';

/** The registry that services come from; there is one kind so far. */
const REGISTRY = 'Kubernetes';

export function* registry(snapshot: Snapshot): Generator<unknown> {
  for (const service of snapshot.services) {
    const { hostname, namespace, name, addresses, selector, ports } = service;
    const workloads = (snapshot.workloadsByService.get(hostname) ?? []).map(workloadKey);
    yield { hostname, namespace, name, registry: REGISTRY, addresses, selector, ports, workloads };
  }
}

export function* endpoints(snapshot: Snapshot): Generator<unknown> {
  for (const service of snapshot.services) {
    const groups = snapshot.endpoints.get(service.hostname) ?? [];
    const found = service.ports.flatMap((port) => groups.flatMap((group) => ofPort(group, service, port)));
    yield { service: service.hostname, endpoints: found };
  }
}

/** `httpbin.foo.svc.cluster.local:8000 10.1.1.1:80 foo/httpbin-1 ready`, a line each. */
export function* endpointLines(snapshot: Snapshot): Generator<string> {
  for (const service of snapshot.services) {
    for (const port of service.ports) {
      for (const group of snapshot.endpoints.get(service.hostname) ?? []) {
        for (const { address, port: number, workload, ready } of ofPort(group, service, port)) {
          const host = address.includes(':') ? `[${address}]` : address;
          yield `${service.hostname}:${port.number} ${host}:${number} ${workload ?? '-'} ${ready ? 'ready' : 'not-ready'}\n`;
        }
      }
    }
  }
}

/** By service, namespace, and the slice of a registry (or of a remote cluster, by its name) that says so. */
export function* endpointShards(snapshot: Snapshot): Generator<unknown> {
  for (const service of snapshot.services) {
    const groups = snapshot.endpoints.get(service.hostname) ?? [];
    const shards = groups.map((group): [string, unknown] => [
      `${group.slice.cluster ?? REGISTRY}/${group.slice.name}`,
      service.ports.flatMap((port) => ofPort(group, service, port)),
    ]);
    yield { service: service.hostname, namespace: service.namespace, shards: Object.fromEntries(shards) };
  }
}

interface PortEndpoint {
  readonly address: string;
  readonly port: number;
  readonly servicePort: number;
  readonly ready: boolean;
  readonly workload: string | undefined;
  readonly serviceAccount: string | undefined;
  readonly sidecar: boolean;
  /** `region/zone`, where known. */
  readonly locality?: string;
  /** The remote cluster that it is in. */
  readonly cluster?: string;
}

function ofPort(group: EndpointGroup, service: Service, port: ServicePort): readonly PortEndpoint[] {
  const slicePort = slicePortFor(group.slice, service, port);
  if (slicePort === undefined) return [];
  const { cluster } = group.slice;
  return group.endpoints.map(({ address, ready, workload, locality }: Endpoint) => ({
    address,
    port: slicePort.number,
    servicePort: port.number,
    ready,
    workload: workload === undefined ? undefined : workloadKey(workload),
    serviceAccount: workload?.serviceAccount,
    sidecar: workload?.hasSidecar ?? false,
    ...(locality === '' ? {} : { locality }),
    ...(cluster === undefined ? {} : { cluster }),
  }));
}
