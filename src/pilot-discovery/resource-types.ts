/** The resource types of discovery by their short names, as in metrics, tables and debug pages. */
export const TYPE_URLS = {
  cluster: 'type.googleapis.com/envoy.config.cluster.v3.Cluster',
  endpoint: 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment',
  listener: 'type.googleapis.com/envoy.config.listener.v3.Listener',
  route: 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration',
} as const;

/** Parts of route tables, which delta proxies get on their own. */
export const VIRTUAL_HOST_URL = 'type.googleapis.com/envoy.config.route.v3.VirtualHost';

export type ResourceTypeName = keyof typeof TYPE_URLS;

export const RESOURCE_TYPE_NAMES = Object.keys(TYPE_URLS) as readonly ResourceTypeName[];

/** Label of a type in metrics. */
export type MetricType = 'cds' | 'eds' | 'lds' | 'rds' | 'vhds';

const METRIC_TYPES: Readonly<Record<string, MetricType>> = {
  [TYPE_URLS.cluster]: 'cds',
  [TYPE_URLS.endpoint]: 'eds',
  [TYPE_URLS.listener]: 'lds',
  [TYPE_URLS.route]: 'rds',
  [VIRTUAL_HOST_URL]: 'vhds',
};

export function metricType(typeUrl: string): MetricType | undefined {
  return METRIC_TYPES[typeUrl];
}

/** Virtual hosts count as routes. */
export function resourceTypeName(typeUrl: string): ResourceTypeName | undefined {
  if (typeUrl === VIRTUAL_HOST_URL) return 'route';
  return RESOURCE_TYPE_NAMES.find((name) => TYPE_URLS[name] === typeUrl);
}
