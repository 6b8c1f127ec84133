/** The resource types of discovery by their short names, as in metrics, tables and debug pages. */
export const TYPE_URLS = {
  cluster: 'type.googleapis.com/envoy.config.cluster.v3.Cluster',
  endpoint: 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment',
  listener: 'type.googleapis.com/envoy.config.listener.v3.Listener',
  route: 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration',
} as const;

export type ResourceTypeName = keyof typeof TYPE_URLS;

export const RESOURCE_TYPE_NAMES = Object.keys(TYPE_URLS) as readonly ResourceTypeName[];

/** Label of a type in metrics (`cds`, `eds`, `lds`, `rds`). */
export const METRIC_NAMES: Readonly<Record<ResourceTypeName, string>> = {
  cluster: 'cds',
  endpoint: 'eds',
  listener: 'lds',
  route: 'rds',
};

export function resourceTypeName(typeUrl: string): ResourceTypeName | undefined {
  return RESOURCE_TYPE_NAMES.find((name) => TYPE_URLS[name] === typeUrl);
}
