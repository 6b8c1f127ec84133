/** pilot-discovery in a cluster. */
import { parseListenAddress } from '../../lib/address.ts';
import { DEFAULT_MESH_CONFIG } from '../../model/mesh-config.ts';
import type { KubeObject } from '../../model/object.ts';
import { discoveryFlags } from '../../pilot-discovery/flags.ts';
import { certificateMount, type PartOptions, READ } from './options.ts';
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
const VALIDATION_PORT = 15017;

export function discoveryObjects(options: PartOptions): readonly KubeObject[] {
  const { names, namespace, image, replicas } = options;
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
        verbs: ['update'],
      },
      // Watching one object by its name takes the rights for that name only.
      {
        apiGroups: ['admissionregistration.k8s.io'],
        resources: ['validatingwebhookconfigurations'],
        resourceNames: [validationConfiguration(namespace)],
        verbs: [...READ, 'update'],
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
      { name: 'https-validation', port: VALIDATION_PORT, targetPort: VALIDATION_PORT },
    ]),
    ...disruptionBudget(component, replicas),
    deployment(component, {
      replicas,
      image,
      args: [
        'pilot-discovery',
        'discovery',
        `--validationAddr=:${VALIDATION_PORT}`,
        `--validationWebhookConfig=${validationConfiguration(namespace)}`,
      ],
      ports: [
        { name: 'http', containerPort: http },
        { name: 'grpc-xds', containerPort: grpc },
        { name: 'http-monitoring', containerPort: monitoring },
        { name: 'validation', containerPort: VALIDATION_PORT },
      ],
      readinessProbe: { httpGet: { path: '/ready', port: http }, periodSeconds: 3, timeoutSeconds: 5 },
      livenessProbe: {
        httpGet: { path: '/version', port: monitoring },
        initialDelaySeconds: 10,
        periodSeconds: 10,
        timeoutSeconds: 5,
      },
      resources: { cpu: '500m', memory: '512Mi' },
      // A start without a certificate would be one without TLS for as long as the process lives; so the pod waits for mesh_ca.
      mounts: [certificateMount(component.serviceAccount)],
    }),
    validationWebhook(component, options),
  ];
}

/** Each control plane has its own, as each has its own authority. */
function validationConfiguration(namespace: string): string {
  const { default: name } = discoveryFlags.validationWebhookConfig;
  return namespace === DEFAULT_MESH_CONFIG.rootNamespace ? name : `${name}-${namespace}`;
}

/** The CA bundle is left to pilot-discovery, which writes the one that its certificate leads to. */
function validationWebhook({ name, namespace }: Component, { names }: PartOptions): KubeObject {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: validationConfiguration(namespace), labels: { app: name } },
    webhooks: [
      {
        name: names.validationWebhookName,
        clientConfig: { service: { name, namespace, path: '/validate', port: VALIDATION_PORT } },
        // Deletions are never asked about, so there is always a way out; and no kind but our own is.
        rules: [
          {
            operations: ['CREATE', 'UPDATE'],
            apiGroups: [names.authentication.group],
            apiVersions: ['*'],
            resources: ['policies', 'meshpolicies'],
            scope: '*',
          },
        ],
        namespaceSelector: {
          matchExpressions: [
            { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['kube-system'] },
            { key: names.validationLabel, operator: 'NotIn', values: ['disabled'] },
          ],
        },
        // What the control plane is made of must not wait for a part of it.
        objectSelector: { matchExpressions: [{ key: names.installationLabel, operator: 'DoesNotExist' }] },
        // A policy that nobody could check might not be in force, while its author believes that it is.
        failurePolicy: 'Fail',
        sideEffects: 'None',
        matchPolicy: 'Equivalent',
        timeoutSeconds: 5,
        admissionReviewVersions: ['v1', 'v1beta1'],
      },
    ],
  };
}

function grpcPort(): number {
  const address = parseListenAddress(discoveryFlags.grpcAddr.default);
  if (!address.ok) throw new Error(`the default of --grpcAddr is no address: ${discoveryFlags.grpcAddr.default}`);
  return address.value.port;
}
