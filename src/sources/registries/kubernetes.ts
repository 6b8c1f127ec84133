/** The registry of kind Kubernetes: services, their endpoints and the pods behind them, from the objects of a store. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../io/log/logger.ts';
import { type Duration, seconds } from '../../lib/duration.ts';
import type { Parsed, Problem } from '../../lib/errors.ts';
import type { Names } from '../../lib/names.ts';
import type { EndpointSlice } from '../../model/endpoint-slice.ts';
import { kindsFor } from '../../model/kinds.ts';
import type { Node } from '../../model/locality.ts';
import { parseEndpointSlice } from '../../model/parse/endpoint-slice.ts';
import { parseNode } from '../../model/parse/node.ts';
import { parseService } from '../../model/parse/service.ts';
import { parseWorkload, workloadPart } from '../../model/parse/workload.ts';
import type { Service } from '../../model/service.ts';
import type { Workload } from '../../model/workload.ts';
import { followKind } from '../collection.ts';
import type { ObjectStore } from '../store/object-store.ts';

export interface Registry {
  /** Sorted; an unchanged object keeps its identity from call to call. */
  services(): readonly Service[];
  endpointSlices(): readonly EndpointSlice[];
  workloads(): readonly Workload[];
  /** Empty where only one namespace is followed: nodes belong to none. */
  nodes(): readonly Node[];
  problems(): readonly Problem[];
  /** Resolves when everything has been listed once; nodes, which only say where endpoints are, are not waited for long. */
  readonly synced: Promise<void>;
}

export interface KubernetesRegistryOptions {
  readonly store: ObjectStore;
  /** Only this namespace; absent: all. */
  readonly namespace?: string;
  /** Name of the remote cluster that the store is of; absent: our own. */
  readonly cluster?: string;
  /** DNS suffix of service host names. */
  readonly domain: string;
  readonly names: Names;
  readonly onChange: () => void;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Who may not list nodes is to serve all the same. */
const NODE_PATIENCE: Duration = seconds(5);

export function followKubernetes(options: KubernetesRegistryOptions): Registry {
  const { domain, names, namespace, cluster, ...everywhere } = options;
  const kinds = kindsFor(names);
  // The selectors of another cluster would choose among our own pods.
  const withoutSelector = (value: Service): Service => (cluster === undefined ? value : { ...value, selector: undefined });
  const withCluster = (value: EndpointSlice): EndpointSlice => (cluster === undefined ? value : { ...value, cluster });
  const services = followKind({
    ...options,
    kind: kinds.service,
    parse: (object) => mapped(parseService(object, { domain }), withoutSelector),
  });
  const slices = followKind({
    ...options,
    kind: kinds.endpointSlice,
    parse: (object) => mapped(parseEndpointSlice(object), withCluster),
  });
  const workloads = followKind({
    ...options,
    kind: kinds.pod,
    reduce: (object) => workloadPart(object, names),
    parse: (object) => parseWorkload(object, names),
  });
  const nodes = namespace === undefined ? followKind({ ...everywhere, kind: kinds.node, parse: parseNode }) : undefined;
  const needed = [services, slices, workloads];
  const listed = needed.map((collection) => collection.synced);
  return {
    services: services.values,
    endpointSlices: slices.values,
    workloads: workloads.values,
    nodes: nodes?.values ?? (() => []),
    problems: () => [...needed, ...(nodes === undefined ? [] : [nodes])].flatMap((collection) => collection.problems()),
    synced: Promise.all([...listed, soon(nodes?.synced, options.signal)]).then(() => undefined),
  };
}

function mapped<T>(parsed: Parsed<T>, change: (value: T) => T): Parsed<T> {
  return parsed.ok ? { ok: true, value: change(parsed.value) } : parsed;
}

/** Resolves when a promise does, or after a while. */
async function soon(synced: Promise<void> | undefined, signal: AbortSignal): Promise<void> {
  if (synced === undefined) return;
  const waiting = new AbortController();
  const delay = sleep(NODE_PATIENCE, undefined, { signal: AbortSignal.any([signal, waiting.signal]), ref: false });
  await Promise.race([synced, delay]).catch(() => {});
  waiting.abort();
  await delay.catch(() => {});
}
