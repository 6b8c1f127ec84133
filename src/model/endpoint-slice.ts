export interface SlicePort {
  /** Empty for the only port of a service. */
  readonly name: string;
  readonly number: number;
}

/** `draining`: on its way out, still answering; used where nothing better is left. */
export type EndpointCondition = 'ready' | 'draining' | 'unready';

export interface SliceEndpoint {
  readonly address: string;
  readonly condition: EndpointCondition;
  /** `namespace/name` of the pod behind it, when the slice says so. */
  readonly pod: string | undefined;
  /** Name of the node that it runs on, when the slice says so. */
  readonly node?: string;
  /** Where it runs, when the slice says so. */
  readonly zone?: string;
}

/** A discovery.k8s.io/v1 EndpointSlice, parsed. */
export interface EndpointSlice {
  /** Name of the remote cluster that it was read from; absent: our own. */
  readonly cluster?: string;
  readonly namespace: string;
  readonly name: string;
  /** Name of the service in the same namespace. */
  readonly serviceName: string;
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly SliceEndpoint[];
}
