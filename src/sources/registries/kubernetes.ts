/** The registry of kind Kubernetes: services, their endpoints and the pods behind them, from the objects of a store. */
import type { Logger } from '../../io/log/logger.ts';
import type { Problem } from '../../lib/errors.ts';
import type { Names } from '../../lib/names.ts';
import type { EndpointSlice } from '../../model/endpoint-slice.ts';
import { kindsFor } from '../../model/kinds.ts';
import { parseEndpointSlice } from '../../model/parse/endpoint-slice.ts';
import { parseService } from '../../model/parse/service.ts';
import { parseWorkload } from '../../model/parse/workload.ts';
import type { Service } from '../../model/service.ts';
import type { Workload } from '../../model/workload.ts';
import { followKind } from '../collection.ts';
import type { ObjectStore } from '../store/object-store.ts';

export interface Registry {
  /** Sorted; an unchanged object keeps its identity from call to call. */
  services(): readonly Service[];
  endpointSlices(): readonly EndpointSlice[];
  workloads(): readonly Workload[];
  problems(): readonly Problem[];
  /** Resolves when everything has been listed once. */
  readonly synced: Promise<void>;
}

export interface KubernetesRegistryOptions {
  readonly store: ObjectStore;
  /** Only this namespace; absent: all. */
  readonly namespace?: string;
  /** DNS suffix of service host names. */
  readonly domain: string;
  readonly names: Names;
  readonly onChange: () => void;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export function followKubernetes(options: KubernetesRegistryOptions): Registry {
  const { domain, names } = options;
  const kinds = kindsFor(names);
  const services = followKind({ ...options, kind: kinds.service, parse: (object) => parseService(object, { domain }) });
  const slices = followKind({ ...options, kind: kinds.endpointSlice, parse: parseEndpointSlice });
  const workloads = followKind({ ...options, kind: kinds.pod, parse: (object) => parseWorkload(object, names) });
  const all = [services, slices, workloads];
  return {
    services: services.values,
    endpointSlices: slices.values,
    workloads: workloads.values,
    problems: () => all.flatMap((collection) => collection.problems()),
    synced: Promise.all(all.map((collection) => collection.synced)).then(() => undefined),
  };
}
