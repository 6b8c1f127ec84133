import { MeshError } from '../../lib/errors.ts';
import type { KubeObject } from '../../model/object.ts';
import type { Cluster } from '../cluster.ts';
import { SERVICE_NAME_LABEL } from '../controllers/endpoint-slices.ts';
import { serviceView } from '../controllers/service-view.ts';
import { NODE_ADDRESS } from '../network/addresses.ts';
import type { ServiceAddress } from '../network/proxy-rules.ts';

type Objects = Pick<Cluster, 'find' | 'list'>;

/** The service that every cluster has for its API server. */
const NAMESPACE = 'default';
const NAME = 'kubernetes';
/** Where the node takes connections to the API server. */
export const RELAY_PORT = 6443;

/** What Kubernetes puts into the environment of every container. Throws `unavailable` in a cluster that has no such service. */
export function apiServerEnvironment(cluster: Objects): Readonly<Record<string, string>> {
  const { clusterIp, port } = requireApiService(cluster);
  return {
    KUBERNETES_SERVICE_HOST: clusterIp,
    KUBERNETES_SERVICE_PORT: `${port}`,
    KUBERNETES_SERVICE_PORT_HTTPS: `${port}`,
  };
}

/** The service's addresses, with the API server's replaced by the node's relay: from the node's network there is no other way to it. */
export function throughRelay(addresses: readonly ServiceAddress[], cluster: Objects): readonly ServiceAddress[] {
  const { clusterIp, port } = requireApiService(cluster);
  const endpoints = [{ address: NODE_ADDRESS, port: RELAY_PORT }];
  const relayed: ServiceAddress = { clusterIp, ports: [{ port, protocol: 'TCP', endpoints }] };
  return [...addresses.filter((address) => address.clusterIp !== clusterIp), relayed];
}

/**
 * The endpoints of the service, where the API server itself publishes none (--endpoint-reconciler-type=none): proxies reach what has
 * endpoints alone.
 */
export function missingEndpoints(cluster: Objects): KubeObject | undefined {
  const { service } = requireApiService(cluster);
  const [portName] = service.ports.map(({ name }) => name);
  const isOwn = ({ metadata }: KubeObject): boolean =>
    metadata.namespace === NAMESPACE && metadata.labels?.[SERVICE_NAME_LABEL] === NAME;
  if (cluster.list('endpointSlice').some(isOwn)) return undefined;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `${NAME}-lab`, namespace: NAMESPACE, labels: { [SERVICE_NAME_LABEL]: NAME } },
    addressType: 'IPv4',
    ports: [{ name: portName ?? 'https', port: RELAY_PORT, protocol: 'TCP' }],
    endpoints: [{ addresses: [NODE_ADDRESS], conditions: { ready: true } }],
  };
}

function requireApiService(cluster: Objects) {
  const object = cluster.find('service', NAMESPACE, NAME);
  const service = object === undefined ? undefined : serviceView(object);
  const [port] = service?.ports ?? [];
  if (service?.clusterIp === undefined || port === undefined)
    throw new MeshError('unavailable', `the cluster has no service ${NAMESPACE}/${NAME}, which pods reach its API server by`);
  return { service, clusterIp: service.clusterIp, port: port.port };
}
