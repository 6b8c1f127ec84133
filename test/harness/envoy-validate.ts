import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bootstrap } from '#gen/envoy/config/bootstrap/v3/bootstrap.ts';
import { Cluster } from '#gen/envoy/config/cluster/v3/cluster.ts';
import { ClusterLoadAssignment } from '#gen/envoy/config/endpoint/v3/endpoint.ts';
import { Listener } from '#gen/envoy/config/listener/v3/listener.ts';
import type { FilterChain } from '#gen/envoy/config/listener/v3/listener_components.ts';
import { RouteConfiguration } from '#gen/envoy/config/route/v3/route.ts';
import { HttpConnectionManager } from '#gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.ts';
import { Any } from '#gen/google/protobuf/any.ts';
import { envoyPath } from '../../src/lib/envoy-path.ts';
import type { Snapshot } from '../../src/model/snapshot.ts';
import type { ProxyNode } from '../../src/xds/node.ts';
import { CLUSTER_TYPE, ENDPOINT_TYPE, LISTENER_TYPE, ROUTE_TYPE, type TypeUrl } from '../../src/xds/resource.ts';
import type { Translator } from '../../src/xds/translate.ts';

/** The resources of one proxy, decoded. */
export interface ProxyResources {
  readonly clusters: readonly Cluster[];
  readonly listeners: readonly Listener[];
  readonly endpoints: ReadonlyMap<string, ClusterLoadAssignment>;
  readonly routes: ReadonlyMap<string, RouteConfiguration>;
}

export function proxyResources(translator: Translator, snapshot: Snapshot, node: ProxyNode): ProxyResources {
  const values = (typeUrl: TypeUrl): readonly Uint8Array[] =>
    [...translator.resources(snapshot, node, typeUrl, 'coarse').resources.values()].map(({ any }) => Any.decode(any).value);
  const endpoints = values(ENDPOINT_TYPE).map((value) => ClusterLoadAssignment.decode(value));
  const routes = values(ROUTE_TYPE).map((value) => RouteConfiguration.decode(value));
  return {
    clusters: values(CLUSTER_TYPE).map((value) => Cluster.decode(value)),
    listeners: values(LISTENER_TYPE).map((value) => Listener.decode(value)),
    endpoints: new Map(endpoints.map((assignment) => [assignment.clusterName, assignment])),
    routes: new Map(routes.map((table) => [table.name, table])),
  };
}

/** A cluster that leads to the agent, as the real bootstrap has it. */
const SDS_CLUSTER = Cluster.fromPartial({
  name: 'sds-grpc',
  connectTimeout: { seconds: 1 },
  loadAssignment: {
    clusterName: 'sds-grpc',
    endpoints: [
      {
        lbEndpoints: [
          {
            hostIdentifier: {
              $case: 'endpoint',
              endpoint: { address: { address: { $case: 'pipe', pipe: { path: '/nonexistent/sds.sock' } } } },
            },
          },
        ],
      },
    ],
  },
});

/** A bootstrap with everything in it that a proxy would get by xDS: endpoints inside clusters, routes inside listeners. */
export function staticBootstrap(resources: ProxyResources): Bootstrap {
  return Bootstrap.fromPartial({
    node: { id: 'sidecar~127.0.0.1~test.test~test.svc.cluster.local', cluster: 'test' },
    staticResources: {
      clusters: [...resources.clusters.map((cluster) => withEndpoints(cluster, resources)), SDS_CLUSTER],
      listeners: resources.listeners.map((listener) => withRoutes(listener, resources)),
    },
  });
}

function withEndpoints(cluster: Cluster, { endpoints }: ProxyResources): Cluster {
  if (cluster.edsClusterConfig === undefined) return cluster;
  const loadAssignment = endpoints.get(cluster.name);
  if (loadAssignment === undefined) throw new Error(`cluster ${cluster.name} has no endpoint resource`);
  return { ...cluster, clusterDiscoveryType: { $case: 'type', type: 0 }, edsClusterConfig: undefined, loadAssignment };
}

function withRoutes(listener: Listener, resources: ProxyResources): Listener {
  return { ...listener, filterChains: listener.filterChains.map((chain) => chainWithRoutes(chain, resources)) };
}

function chainWithRoutes(chain: FilterChain, { routes }: ProxyResources): FilterChain {
  const filters = chain.filters.map((filter) => {
    const { configType } = filter;
    if (configType?.$case !== 'typedConfig' || !configType.typedConfig.typeUrl.endsWith('.HttpConnectionManager')) return filter;
    const manager = HttpConnectionManager.decode(configType.typedConfig.value);
    if (manager.routeSpecifier?.$case !== 'rds') return filter;
    const { routeConfigName } = manager.routeSpecifier.rds;
    const routeConfig = routes.get(routeConfigName);
    if (routeConfig === undefined) throw new Error(`route table ${routeConfigName} is missing`);
    const inlined = HttpConnectionManager.fromPartial({ ...manager, routeSpecifier: { $case: 'routeConfig', routeConfig } });
    const value = HttpConnectionManager.encode(inlined).finish();
    return { ...filter, configType: { $case: 'typedConfig', typedConfig: { ...configType.typedConfig, value } } } as const;
  });
  return { ...chain, filters };
}

/** Rejects with Envoy's own words when it would not take the configuration. */
export async function validate(bootstrap: Bootstrap): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'mesh-validate-'));
  try {
    const file = join(folder, 'bootstrap.pb');
    writeFileSync(file, Bootstrap.encode(bootstrap).finish());
    await new Promise<void>((resolve, reject) => {
      const args = ['--mode', 'validate', '--config-path', file, '--log-level', 'error'];
      execFile(envoyPath(process.env), args, { timeout: 100_000 }, (error, stdout, stderr) => {
        if (error === null) resolve();
        else reject(new Error(`envoy refuses the configuration: ${stderr}${stdout}`, { cause: error }));
      });
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
