/** sidecar-injector in a cluster. */
import { NAMESPACE_LABEL, NAMESPACE_LABEL_VALUE } from '../../injection/decision.ts';
import type { KubeObject } from '../../model/object.ts';
import { injectorFlags } from '../../sidecar-injector/flags.ts';
import { certificateMount, INJECTION_CONFIG, MESH_CONFIG, type PartOptions, READ } from './options.ts';
import { type Component, clusterRights, deployment, disruptionBudget, service, serviceAccount } from './parts.ts';

const HEALTH = { path: '/run/mesh/health', interval: '2s', staleAfter: '4s' } as const;
/** The port that API servers call; processes without root cannot listen on it everywhere. */
const LISTEN_PORT = 8443;

export function injectorObjects(options: PartOptions): readonly KubeObject[] {
  const { namespace, image, replicas } = options;
  const component: Component = {
    name: 'mesh-sidecar-injector',
    namespace,
    serviceAccount: 'mesh-sidecar-injector-service-account',
  };
  const probe = {
    exec: { command: ['mesh', 'sidecar-injector', 'probe', '--probe-path', HEALTH.path, '--interval', HEALTH.staleAfter] },
    initialDelaySeconds: 4,
    periodSeconds: 4,
    timeoutSeconds: 5,
  };
  return [
    serviceAccount(component),
    ...clusterRights(component, [
      // Watching one object by its name takes the rights for that name only.
      {
        apiGroups: ['admissionregistration.k8s.io'],
        resources: ['mutatingwebhookconfigurations'],
        resourceNames: [injectorFlags.webhookConfigName.default],
        verbs: [...READ, 'update'],
      },
    ]),
    service(component, [{ name: 'https-inject', port: injectorFlags.port.default, targetPort: LISTEN_PORT }]),
    ...disruptionBudget(component, replicas),
    deployment(component, {
      replicas,
      image,
      args: [
        'sidecar-injector',
        `--port=${LISTEN_PORT}`,
        `--healthCheckFile=${HEALTH.path}`,
        `--healthCheckInterval=${HEALTH.interval}`,
      ],
      ports: [{ name: 'https', containerPort: LISTEN_PORT }],
      readinessProbe: probe,
      livenessProbe: { ...probe, initialDelaySeconds: 10 },
      resources: { cpu: '100m', memory: '128Mi' },
      mounts: [
        certificateMount(component.serviceAccount),
        { name: 'run', mountPath: '/run/mesh', readOnly: false, volume: { emptyDir: {} } },
        configMount('inject-config', '/etc/mesh/inject', INJECTION_CONFIG),
        configMount('mesh-config', '/etc/mesh/config', MESH_CONFIG),
      ],
    }),
    webhookConfiguration(component, options),
  ];
}

function configMount(name: string, mountPath: string, { map, key }: { readonly map: string; readonly key: string }) {
  return { name, mountPath, volume: { configMap: { name: map, items: [{ key, path: key }] } } };
}

/** The CA bundle is left to the injector, which writes the one that its certificate leads to. */
function webhookConfiguration({ name, namespace }: Component, { names }: PartOptions): KubeObject {
  const webhook = {
    clientConfig: { service: { name, namespace, path: '/inject', port: injectorFlags.port.default } },
    rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], scope: 'Namespaced' }],
    // A pod without its sidecar would be outside of every policy: rather none starts while the injector is down.
    failurePolicy: 'Fail',
    sideEffects: 'None',
    reinvocationPolicy: 'IfNeeded',
    timeoutSeconds: 10,
    admissionReviewVersions: ['v1', 'v1beta1'],
  };
  const chosen = { matchLabels: { [NAMESPACE_LABEL]: NAMESPACE_LABEL_VALUE } };
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: injectorFlags.webhookConfigName.default, labels: { app: name } },
    webhooks: [
      { name: names.webhookName, namespaceSelector: chosen, ...webhook },
      // The injector would wait for itself if its own namespace had the label: there, single pods have it.
      {
        name: names.ownWebhookName,
        namespaceSelector: {
          matchLabels: { 'kubernetes.io/metadata.name': namespace },
          matchExpressions: [{ key: NAMESPACE_LABEL, operator: 'NotIn', values: [NAMESPACE_LABEL_VALUE] }],
        },
        objectSelector: chosen,
        ...webhook,
      },
    ],
  };
}
