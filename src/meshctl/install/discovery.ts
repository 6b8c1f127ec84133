/** pilot-discovery in a cluster. */
import { parseListenAddress } from '../../lib/address.ts';
import type { KubeObject } from '../../model/object.ts';
import { discoveryFlags } from '../../pilot-discovery/flags.ts';
import { certificateMount, type InstallOptions, READ } from './options.ts';
import {
  type Component,
  clusterRights,
  deployment,
  disruptionBudget,
  ownNamespaceRights,
  service,
  serviceAccount,
} from './parts.ts';

/** What agents connect to by default, whatever pilot-discovery itself listens on. */
const DISCOVERY_PORT = 15007;
const SECURE_GRPC_PORT = 15011;

export function discoveryObjects({ names, namespace, image, replicas }: InstallOptions): readonly KubeObject[] {
  const component: Component = { name: 'mesh-pilot', namespace, serviceAccount: 'mesh-pilot-service-account' };
  const http = discoveryFlags.port.default;
  const monitoring = discoveryFlags.monitoringPort.default;
  const grpc = grpcPort();
  return [
    serviceAccount(component),
    ...clusterRights(component, [
      { apiGroups: [''], resources: ['services', 'pods', 'nodes', 'namespaces'], verbs: READ },
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: READ },
      { apiGroups: [names.authentication.group], resources: ['policies', 'meshpolicies'], verbs: READ },
      {
        apiGroups: [names.authentication.group],
        resources: ['policies/status', 'meshpolicies/status'],
        verbs: ['get', 'update', 'patch'],
      },
    ]),
    ...ownNamespaceRights(component, [{ apiGroups: [''], resources: ['configmaps'], verbs: READ }]),
    // A connection that begins with a TLS handshake is taken as one on any port, so that 15011 needs no listener of its own.
    service(component, [
      { name: 'http-legacy-discovery', port: DISCOVERY_PORT, targetPort: http },
      { name: 'http-discovery', port: http, targetPort: http },
      { name: 'grpc-xds', port: grpc, targetPort: grpc },
      { name: 'https-xds', port: SECURE_GRPC_PORT, targetPort: grpc },
      { name: 'http-monitoring', port: monitoring, targetPort: monitoring },
    ]),
    ...disruptionBudget(component, replicas),
    deployment(component, {
      replicas,
      image,
      args: ['pilot-discovery', 'discovery'],
      ports: [
        { name: 'http', containerPort: http },
        { name: 'grpc-xds', containerPort: grpc },
        { name: 'http-monitoring', containerPort: monitoring },
      ],
      readinessProbe: { httpGet: { path: '/ready', port: http }, periodSeconds: 3, timeoutSeconds: 5 },
      livenessProbe: {
        httpGet: { path: '/version', port: monitoring },
        initialDelaySeconds: 10,
        periodSeconds: 10,
        timeoutSeconds: 5,
      },
      resources: { cpu: '500m', memory: '512Mi' },
      mounts: [certificateMount(component.serviceAccount, true)],
    }),
  ];
}

function grpcPort(): number {
  const address = parseListenAddress(discoveryFlags.grpcAddr.default);
  if (!address.ok) throw new Error(`the default of --grpcAddr is no address: ${discoveryFlags.grpcAddr.default}`);
  return address.value.port;
}
