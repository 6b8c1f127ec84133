import type { StringMap, TypedValue } from '../attribute/value.ts';

type Named = {
  /** `name.kind.namespace` of the configured instance. */
  readonly name: string;
};

type Dimensions = Readonly<Record<string, TypedValue>>;

/** What a handler is given, by template. Times are nanoseconds since 1970. What could not be evaluated and is not required is absent. */
export interface Instances {
  readonly apikey: Named & {
    readonly api?: string | undefined;
    readonly apiVersion?: string | undefined;
    readonly apiOperation?: string | undefined;
    readonly apiKey: string;
    readonly timestamp?: bigint | undefined;
  };
  readonly authorization: Named & {
    readonly subject: {
      readonly user?: string | undefined;
      readonly groups?: string | undefined;
      readonly properties: Dimensions;
    };
    readonly action: {
      readonly namespace?: string | undefined;
      readonly service?: string | undefined;
      readonly method?: string | undefined;
      readonly path?: string | undefined;
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
    readonly monitoredResourceType?: string | undefined;
    readonly monitoredResourceDimensions: Dimensions;
  };
  readonly metric: Named & {
    readonly value: TypedValue;
    readonly dimensions: Dimensions;
    readonly monitoredResourceType?: string | undefined;
    readonly monitoredResourceDimensions: Dimensions;
  };
  readonly tracespan: Named & {
    readonly traceId: string;
    readonly spanId?: string | undefined;
    readonly parentSpanId?: string | undefined;
    readonly spanName: string;
    readonly startTime: bigint;
    readonly endTime: bigint;
    readonly spanTags: Dimensions;
    readonly httpStatusCode?: bigint | undefined;
    readonly clientSpan?: boolean | undefined;
    readonly rewriteClientSpanId?: boolean | undefined;
    readonly sourceName?: string | undefined;
    readonly sourceIp?: string | undefined;
    readonly destinationName?: string | undefined;
    readonly destinationIp?: string | undefined;
    readonly requestSize?: bigint | undefined;
    readonly requestTotalSize?: bigint | undefined;
    readonly responseSize?: bigint | undefined;
    readonly responseTotalSize?: bigint | undefined;
    readonly apiProtocol?: string | undefined;
  };
  readonly edge: Named & {
    readonly timestamp: bigint;
    readonly sourceWorkloadNamespace?: string | undefined;
    readonly sourceWorkloadName?: string | undefined;
    readonly sourceOwner?: string | undefined;
    readonly sourceUid?: string | undefined;
    readonly destinationWorkloadNamespace?: string | undefined;
    readonly destinationWorkloadName?: string | undefined;
    readonly destinationOwner?: string | undefined;
    readonly destinationUid?: string | undefined;
    readonly destinationServiceNamespace?: string | undefined;
    readonly destinationServiceName?: string | undefined;
    readonly contextProtocol?: string | undefined;
    readonly apiProtocol?: string | undefined;
  };
  /** Asks for what is known of both ends; the answer becomes attributes by the instance's `attributeBindings`. */
  readonly kubernetes: Named & {
    readonly sourceUid?: string | undefined;
    readonly sourceIp?: string | undefined;
    readonly destinationUid?: string | undefined;
    readonly destinationIp?: string | undefined;
    readonly destinationPort?: bigint | undefined;
  };
}

/** What a handler of the `kubernetes` template finds out of one end. */
export interface KubernetesOutput {
  readonly podName?: string | undefined;
  readonly podUid?: string | undefined;
  readonly podIp?: string | undefined;
  readonly labels?: StringMap | undefined;
  readonly namespace?: string | undefined;
  readonly serviceAccount?: string | undefined;
  readonly hostIp?: string | undefined;
  readonly owner?: string | undefined;
  readonly workloadUid?: string | undefined;
  readonly workloadName?: string | undefined;
  readonly workloadNamespace?: string | undefined;
  readonly containerName?: string | undefined;
}

/** An instance with the template that it is of. */
export type BuiltInstance<Name extends keyof Instances = keyof Instances> = {
  readonly [T in Name]: { readonly template: T; readonly values: Instances[T] };
}[Name];

export type CheckTemplate = 'apikey' | 'authorization' | 'checknothing' | 'listentry';
export type ReportTemplate = 'edge' | 'logentry' | 'metric' | 'reportnothing' | 'tracespan';
