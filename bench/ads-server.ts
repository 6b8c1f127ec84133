/**
 * A discovery server over made-up services, to measure delivery alone: `node bench/ads-server.ts PORT SERVICES`.
 * SIGUSR2 changes one endpoint (10.99.N.250, N counting from 1), SIGHUP adds one service (new-N.bench).
 */
import { hash } from 'node:crypto';
import { Cluster, Cluster_DiscoveryType } from '#gen/envoy/config/cluster/v3/cluster.ts';
import { ClusterLoadAssignment } from '#gen/envoy/config/endpoint/v3/endpoint.ts';
import { Listener } from '#gen/envoy/config/listener/v3/listener.ts';
import { RouteConfiguration } from '#gen/envoy/config/route/v3/route.ts';
import { HttpConnectionManager } from '#gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.ts';
import { Any } from '#gen/google/protobuf/any.ts';
import { createAdsMethods } from '../src/delivery/ads.ts';
import type { Change, ConfigSource, EncodedResource, ResourceSet, TypeUrl } from '../src/delivery/ports.ts';
import { CLUSTER, ENDPOINT, LISTENER, ROUTE } from '../src/delivery/types.ts';
import { createGrpcServer } from '../src/io/grpc/server.ts';
import { silentLogger } from '../src/io/log/logger.ts';

const [port = '15010', services = '1000'] = process.argv.slice(2);
const HCM = 'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';

function encoded(typeUrl: TypeUrl, name: string, value: Uint8Array): EncodedResource {
  return { name, version: hash('sha1', value, 'hex').slice(0, 16), any: Any.encode({ typeUrl, value }).finish() };
}

function cluster(name: string): EncodedResource {
  const message = Cluster.fromPartial({
    name,
    clusterDiscoveryType: { $case: 'type', type: Cluster_DiscoveryType.EDS },
    edsClusterConfig: { edsConfig: { configSourceSpecifier: { $case: 'ads', ads: {} } } },
    connectTimeout: { seconds: 1 },
  });
  return encoded(CLUSTER, name, Cluster.encode(message).finish());
}

function endpoint(name: string, address: string): EncodedResource {
  const socketAddress = { address, portSpecifier: { $case: 'portValue' as const, portValue: 8080 } };
  const host = { address: { address: { $case: 'socketAddress' as const, socketAddress } } };
  const lbEndpoints = [{ hostIdentifier: { $case: 'endpoint' as const, endpoint: host } }];
  const message = ClusterLoadAssignment.fromPartial({ clusterName: name, endpoints: [{ lbEndpoints }] });
  return encoded(ENDPOINT, name, ClusterLoadAssignment.encode(message).finish());
}

function listener(): EncodedResource {
  const rds = { routeConfigName: 'routes', configSource: { configSourceSpecifier: { $case: 'ads' as const, ads: {} } } };
  const hcm = HttpConnectionManager.fromPartial({ statPrefix: 'out', routeSpecifier: { $case: 'rds', rds } });
  const typedConfig = { typeUrl: HCM, value: HttpConnectionManager.encode(hcm).finish() };
  const message = Listener.fromPartial({
    name: 'outbound',
    filterChains: [{ filters: [{ name: 'http', configType: { $case: 'typedConfig', typedConfig } }] }],
  });
  return encoded(LISTENER, 'outbound', Listener.encode(message).finish());
}

function routes(names: readonly string[]): EncodedResource {
  const message = RouteConfiguration.fromPartial({
    name: 'routes',
    virtualHosts: names.map((name) => ({
      name,
      domains: [name, `${name}.svc.cluster.local`],
      routes: [
        {
          match: { pathSpecifier: { $case: 'prefix', prefix: '/' } },
          action: { $case: 'route', route: { clusterSpecifier: { $case: 'cluster', cluster: name } } },
        },
      ],
    })),
  });
  return encoded(ROUTE, 'routes', RouteConfiguration.encode(message).finish());
}

function setOf(typeUrl: TypeUrl, resources: readonly EncodedResource[]): ResourceSet {
  const version = hash('sha1', resources.map(({ name, version }) => `${name}=${version}`).join(), 'hex');
  return { typeUrl, version, resources: new Map(resources.map((resource) => [resource.name, resource])) };
}

const names = Array.from({ length: Number(services) }, (_, i) => `service-${i}.bench`);
const clusters = names.map(cluster);
const endpoints = names.map((name, i) => endpoint(name, `10.1.${i >> 8}.${i & 255}`));
const listeners = new Set<(change: Change) => void>();
const sets = new Map<TypeUrl, ResourceSet>();
let sequence = 0;

function publish(): void {
  for (const set of [
    setOf(CLUSTER, clusters),
    setOf(ENDPOINT, endpoints),
    setOf(LISTENER, [listener()]),
    setOf(ROUTE, [routes(names)]),
  ]) {
    if (sets.get(set.typeUrl)?.version !== set.version) sets.set(set.typeUrl, set);
  }
  sequence += 1;
  for (const notify of [...listeners]) notify('snapshot');
}

const source: ConfigSource = {
  get sequence() {
    return sequence;
  },
  resources: (_node, typeUrl) => sets.get(typeUrl) ?? setOf(typeUrl, []),
  onChange(notify) {
    listeners.add(notify);
    return () => listeners.delete(notify);
  },
};

let changed = 0;
process.on('SIGUSR2', () => {
  changed += 1;
  endpoints[0] = endpoint('service-0.bench', `10.99.${changed}.250`);
  publish();
});
let added = 0;
process.on('SIGHUP', () => {
  added += 1;
  const name = `new-${added}.bench`;
  names.push(name);
  clusters.push(cluster(name));
  endpoints.push(endpoint(name, '10.2.0.1'));
  publish();
});
process.once('SIGTERM', () => void server.close(0).then(() => process.exit(0)));

publish();
const server = createGrpcServer(
  { methods: createAdsMethods({ source, observe: () => {}, admit: () => {}, logger: silentLogger }) },
  silentLogger,
);
await server.listen({ host: '127.0.0.1', port: Number(port) });
console.log(`listening on 127.0.0.1:${server.port}, ${services} services`);
