/** What pilot-discovery sends to a proxy, in the form in which the proxy would show it: only the values' places differ. */
import { MeshError } from '../../lib/errors.ts';
import { isMapping } from '../../model/parse/object.ts';
import { field, items, text } from '../../proxy-dump/json-value.ts';
import type { DumpSource } from '../../proxy-dump/views.ts';

const DUMP = 'type.googleapis.com/envoy.admin.v3.';

/**
 * Answers for a proxy from a page of `/debug/config_dump`, whose resources are in the JSON of protobuf with names in camel case; the
 * proxy writes them as the protos do. https://www.envoyproxy.io/docs/envoy/latest/operations/admin#get--config_dump
 */
export function discoverySource(page: unknown): DumpSource {
  const dump = protoNames(page);
  return {
    async get(path) {
      if (path.startsWith('/config_dump')) return JSON.stringify(configDump(dump));
      if (path.startsWith('/clusters')) return JSON.stringify(clusterStatuses(dump));
      throw new MeshError('unavailable', `pilot-discovery does not know what the proxy answers to ${path}`);
    },
  };
}

function configDump(dump: unknown): unknown {
  const section = (type: string, wrap: (resource: unknown, version: string) => unknown): readonly unknown[] =>
    resourcesOf(dump, type).map((resource) => wrap(resource, text(field(dump, type, 'version'))));
  return {
    configs: [
      {
        '@type': `${DUMP}ClustersConfigDump`,
        dynamic_active_clusters: section('cluster', (cluster, version_info) => ({ version_info, cluster })),
      },
      {
        '@type': `${DUMP}ListenersConfigDump`,
        dynamic_listeners: section('listener', (listener, version_info) => ({
          name: field(listener, 'name'),
          active_state: { version_info, listener },
        })),
      },
      {
        '@type': `${DUMP}RoutesConfigDump`,
        dynamic_route_configs: section('route', (route_config, version_info) => ({ version_info, route_config })),
      },
    ],
  };
}

/** The hosts of the clusters, as `/clusters?format=json` has them; how healthy they are is what discovery says of them. */
function clusterStatuses(dump: unknown): unknown {
  const cluster_statuses = resourcesOf(dump, 'endpoint').map((assignment) => ({
    name: field(assignment, 'cluster_name'),
    host_statuses: items(field(assignment, 'endpoints')).flatMap((locality) =>
      items(field(locality, 'lb_endpoints')).map((endpoint) => ({
        address: field(endpoint, 'endpoint', 'address'),
        health_status: { eds_health_status: text(field(endpoint, 'health_status')) || 'HEALTHY' },
        weight: field(endpoint, 'load_balancing_weight'),
        locality: field(locality, 'locality'),
      })),
    ),
  }));
  return { cluster_statuses };
}

function resourcesOf(dump: unknown, type: string): readonly unknown[] {
  return items(field(dump, type, 'resources'));
}

/** `loadAssignment` -> `load_assignment`; keys of maps, which have dots, dashes or slashes, stay as they are. */
function protoNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(protoNames);
  if (!isMapping(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [protoName(name), protoNames(inner)]));
}

function protoName(name: string): string {
  return /^[a-z][a-zA-Z0-9]*$/.test(name) ? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : name;
}
