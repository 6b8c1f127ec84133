/** mesh_ca in a cluster. */
import { caFlags } from '../../mesh_ca/flags.ts';
import type { KubeObject } from '../../model/object.ts';
import { FOLLOW, type PartOptions, READ } from './options.ts';
import { type Component, clusterRights, deployment, ownNamespaceRights, service, serviceAccount } from './parts.ts';

/** It carries the roots into every namespace. */
const ROOT_CONFIG_MAP = 'mesh-ca-root-cert';
const LIVENESS = { path: '/run/mesh/ca.liveness', interval: '10s' } as const;

export function authorityObjects({ namespace, image }: PartOptions): readonly KubeObject[] {
  const name = caFlags['grpc-hostname'].default;
  const component: Component = { name, namespace, serviceAccount: `${name}-service-account` };
  const grpc = caFlags['grpc-port'].default;
  const probe = {
    exec: { command: ['mesh', 'mesh_ca', 'probe', '--probe-path', LIVENESS.path, '--interval', LIVENESS.interval] },
    periodSeconds: 10,
    timeoutSeconds: 5,
  };
  return [
    serviceAccount(component),
    ...clusterRights(component, [
      { apiGroups: [''], resources: ['namespaces', 'serviceaccounts'], verbs: FOLLOW },
      // Roles know no types of Secrets; which it writes is up to their names and types.
      { apiGroups: [''], resources: ['secrets'], verbs: [...READ, 'create', 'update'] },
      { apiGroups: [''], resources: ['configmaps'], resourceNames: [ROOT_CONFIG_MAP], verbs: [...READ, 'update'] },
      // What is yet to be made has no name for a Role.
      { apiGroups: [''], resources: ['configmaps'], verbs: ['create'] },
      // Whose webhooks are called by which names (--append-dns-names).
      { apiGroups: [''], resources: ['services', 'pods'], verbs: FOLLOW },
      {
        apiGroups: ['admissionregistration.k8s.io'],
        resources: ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'],
        verbs: FOLLOW,
      },
      { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
    ]),
    ...ownNamespaceRights(component, [
      { apiGroups: [''], resources: ['configmaps'], verbs: FOLLOW },
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], resourceNames: [name], verbs: ['get', 'update'] },
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
    ]),
    service(component, [{ name: 'grpc-citadel', port: grpc, targetPort: grpc }]),
    deployment(component, {
      replicas: 1,
      image,
      args: [
        'mesh_ca',
        '--self-signed-ca',
        '--append-dns-names',
        `--citadel-storage-namespace=${namespace}`,
        `--liveness-probe-path=${LIVENESS.path}`,
        `--liveness-probe-interval=${LIVENESS.interval}`,
      ],
      ports: [{ name: 'grpc', containerPort: grpc }],
      readinessProbe: probe,
      livenessProbe: { ...probe, initialDelaySeconds: 15 },
      resources: { cpu: '100m', memory: '128Mi' },
      mounts: [{ name: 'run', mountPath: '/run/mesh', readOnly: false, volume: { emptyDir: {} } }],
    }),
  ];
}
