import type { StringMap, TypedValue } from '../attribute/value.ts';

type Named = {
  /** `name.kind.namespace` of the configured instance. */
  readonly name: string;
};

type Dimensions = Readonly<Record<string, TypedValue>>;

/** What a handler is given, by template. Times are nanoseconds since 1970. What could not be evaluated and is not required is absent. */
export interface Instances {
  readonly apikey: Named & {
    readonly api?: string;
    readonly apiVersion?: string;
    readonly apiOperation?: string;
    readonly apiKey: string;
    readonly timestamp?: bigint;
  };
  readonly authorization: Named & {
    readonly subject: { readonly user?: string; readonly groups?: string; readonly properties: Dimensions };
    readonly action: {
      readonly namespace?: string;
      readonly service?: string;
      readonly method?: string;
      readonly path?: string;
      readonly properties: Dimensions;
    };
  };
  readonly checknothing: Named;
  readonly reportnothing: Named;
  readonly listentry: Named & { readonly value: string };
  readonly quota: Named & { readonly dimensions: Dimensions };
  readonly logentry: Named & {
    readonly variables: Dimensions;
    readonly timestamp: bigint;
    readonly severity: string;
    readonly monitoredResourceType?: string;
    readonly monitoredResourceDimensions: Dimensions;
  };
  readonly metric: Named & {
    readonly value: TypedValue;
    readonly dimensions: Dimensions;
    readonly monitoredResourceType?: string;
    readonly monitoredResourceDimensions: Dimensions;
  };
  readonly tracespan: Named & {
    readonly traceId: string;
    readonly spanId?: string;
    readonly parentSpanId?: string;
    readonly spanName: string;
    readonly startTime: bigint;
    readonly endTime: bigint;
    readonly spanTags: Dimensions;
    readonly httpStatusCode?: bigint;
    readonly clientSpan?: boolean;
    readonly rewriteClientSpanId?: boolean;
    readonly sourceName?: string;
    readonly sourceIp?: string;
    readonly destinationName?: string;
    readonly destinationIp?: string;
    readonly requestSize?: bigint;
    readonly requestTotalSize?: bigint;
    readonly responseSize?: bigint;
    readonly responseTotalSize?: bigint;
    readonly apiProtocol?: string;
  };
  readonly edge: Named & {
    readonly timestamp: bigint;
    readonly sourceWorkloadNamespace?: string;
    readonly sourceWorkloadName?: string;
    readonly sourceOwner?: string;
    readonly sourceUid?: string;
    readonly destinationWorkloadNamespace?: string;
    readonly destinationWorkloadName?: string;
    readonly destinationOwner?: string;
    readonly destinationUid?: string;
    readonly destinationServiceNamespace?: string;
    readonly destinationServiceName?: string;
    readonly contextProtocol?: string;
    readonly apiProtocol?: string;
  };
  /** Asks for what is known of both ends; the answer becomes attributes by the instance's `attributeBindings`. */
  readonly kubernetes: Named & {
    readonly sourceUid?: string;
    readonly sourceIp?: string;
    readonly destinationUid?: string;
    readonly destinationIp?: string;
    readonly destinationPort?: bigint;
  };
}

/** What a handler of the `kubernetes` template finds out of one end. */
export interface KubernetesOutput {
  readonly podName?: string;
  readonly podUid?: string;
  readonly podIp?: string;
  readonly labels?: StringMap;
  readonly namespace?: string;
  readonly serviceAccount?: string;
  readonly hostIp?: string;
  readonly owner?: string;
  readonly workloadUid?: string;
  readonly workloadName?: string;
  readonly workloadNamespace?: string;
  readonly containerName?: string;
}
