export interface SlicePort {
  /** Empty for the only port of a service. */
  readonly name: string;
  readonly number: number;
}

export interface SliceEndpoint {
  readonly address: string;
  readonly ready: boolean;
  /** `namespace/name` of the pod behind it, when the slice says so. */
  readonly pod: string | undefined;
}

/** A discovery.k8s.io/v1 EndpointSlice, parsed. */
export interface EndpointSlice {
  readonly namespace: string;
  readonly name: string;
  /** Name of the service in the same namespace. */
  readonly serviceName: string;
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly SliceEndpoint[];
}
