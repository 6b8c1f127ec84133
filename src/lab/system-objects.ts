import type { KubeObject } from '../model/object.ts';
import { SERVICE_NAME_LABEL } from './controllers/endpoint-slices.ts';
import { NODE_ADDRESS } from './network/addresses.ts';

/** Namespace of the control plane. */
export const ROOT_NAMESPACE = 'mesh-system';
/** Name of the ConfigMap that holds what `--image` said: image name -> command line. */
export const IMAGES_CONFIG_MAP = 'mesh-lab-images';

const MESH_CONFIG = `# Turns on mutual TLS for all services of the mesh:
# authPolicy: MUTUAL_TLS
trustDomain: cluster.local
outboundTrafficPolicy: REGISTRY_ONLY
`;

interface SystemPort {
  readonly name: string;
  readonly port: number;
  readonly target: number;
}

/** What a lab has from its start; an object that exists already is left as it is. */
export function systemObjects(): readonly KubeObject[] {
  const namespace = (name: string): KubeObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  return [
    namespace('default'),
    namespace(ROOT_NAMESPACE),
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'mesh', namespace: ROOT_NAMESPACE }, data: { mesh: MESH_CONFIG } },
    ...nodeService('mesh-pilot', [
      { name: 'http-discovery', port: 15007, target: 8080 },
      { name: 'grpc-xds', port: 15010, target: 15010 },
      { name: 'http-monitoring', port: 9093, target: 9093 },
    ]),
    ...nodeService('mesh-citadel', [{ name: 'grpc-ca', port: 8060, target: 8060 }]),
  ];
}

/** A service whose endpoint is a process on the node. */
function nodeService(name: string, ports: readonly SystemPort[]): readonly KubeObject[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: ROOT_NAMESPACE },
      spec: { ports: ports.map((port) => ({ name: port.name, port: port.port, targetPort: port.target, protocol: 'TCP' })) },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name, namespace: ROOT_NAMESPACE, labels: { [SERVICE_NAME_LABEL]: name } },
      addressType: 'IPv4',
      ports: ports.map((port) => ({ name: port.name, port: port.target, protocol: 'TCP' })),
      endpoints: [{ addresses: [NODE_ADDRESS], conditions: { ready: true, serving: true, terminating: false } }],
    },
  ];
}
