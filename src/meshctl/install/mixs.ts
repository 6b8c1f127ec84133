/** mixs in a cluster: one Deployment behind the two Services that sidecars know it by. */
import { NAMESPACE_LABEL, NAMESPACE_LABEL_VALUE } from '../../injection/decision.ts';
import type { Names } from '../../lib/names.ts';
import { serverFlags } from '../../mixs/flags.ts';
import { groupOf } from '../../model/kinds.ts';
import type { KubeObject } from '../../model/object.ts';
import { ruleKinds } from '../../rules/config/kinds.ts';
import { defaultRules } from './mixs-rules.ts';
import { FOLLOW, type InstallOptions } from './options.ts';
import {
  type Component,
  clusterRights,
  deployment,
  disruptionBudget,
  type Fields,
  type Rule,
  service,
  serviceAccount,
} from './parts.ts';

/** Whom sidecars ask, and whom they tell. */
export const POLICY_SERVICE = 'mesh-policy';
export const TELEMETRY_SERVICE = 'mesh-telemetry';
const SERVICES = [POLICY_SERVICE, TELEMETRY_SERVICE];

const API_PORT = serverFlags.port.default;
const MONITORING_PORT = serverFlags.monitoringPort.default;
/** Of the sidecar. */
const STATUS_PORT = 15020;

/** What mixs runs of, for those who have chosen it. */
export function mixsObjects(options: InstallOptions): readonly KubeObject[] {
  if (options.mixs === 'none') return [];
  const { names, namespace, replicas } = options;
  const component: Component = { name: 'mesh-mixs', namespace, serviceAccount: 'mesh-mixs-service-account' };
  return [
    serviceAccount(component),
    ...clusterRights(component, [
      ...rightsForRules(names),
      // Who calls and who is called, by address (kubernetesenv).
      { apiGroups: [''], resources: ['pods'], verbs: FOLLOW },
    ]),
    ...SERVICES.map((name) =>
      service(
        component,
        [
          { name: 'grpc-mixs', port: API_PORT, targetPort: API_PORT },
          { name: 'http-monitoring', port: MONITORING_PORT, targetPort: MONITORING_PORT },
        ],
        name,
      ),
    ),
    sidecarsOnly(component, names),
    ...(options.defaultRules ? defaultRules(names, namespace) : []),
    ...disruptionBudget(component, replicas),
    mixsDeployment(component, options),
  ];
}

function rightsForRules({ domain }: Names): readonly Rule[] {
  const byGroup = Map.groupBy(
    ruleKinds(domain).map(({ resource }) => resource),
    groupOf,
  );
  return [...byGroup].map(([group, kinds]) => ({
    apiGroups: [group],
    resources: kinds.map(({ plural }) => plural),
    verbs: FOLLOW,
  }));
}

/** mixs believes what its callers say about themselves: others than sidecars are to be kept away. */
function sidecarsOnly({ name, namespace }: Component, { authentication: { apiVersion } }: Names): KubeObject {
  const targets = SERVICES.map((target) => ({ name: target, ports: [{ number: API_PORT }] }));
  return { apiVersion, kind: 'Policy', metadata: { name, namespace }, spec: { targets, peers: [{ mtls: {} }] } };
}

function mixsDeployment(component: Component, { names, image, replicas }: InstallOptions): KubeObject {
  return deployment(component, {
    replicas,
    image,
    args: ['mixs', 'server', `--configDefaultNamespace=${component.namespace}`],
    ports: [
      { name: 'grpc-mixs', containerPort: API_PORT },
      { name: 'http-monitoring', containerPort: MONITORING_PORT },
    ],
    startupProbe: SIDECAR_IS_READY,
    readinessProbe: { grpc: { port: API_PORT }, periodSeconds: 3, timeoutSeconds: 5 },
    livenessProbe: { httpGet: { path: '/version', port: MONITORING_PORT }, periodSeconds: 10, timeoutSeconds: 5 },
    resources: { cpu: '500m', memory: '256Mi' },
    labels: { [NAMESPACE_LABEL]: NAMESPACE_LABEL_VALUE },
    annotations: {
      [names.injectAnnotation]: 'true',
      'prometheus.io/scrape': 'true',
      'prometheus.io/port': `${MONITORING_PORT}`,
      'prometheus.io/path': '/metrics',
    },
  });
}

/** A pod that the webhook was not asked about would be called in plaintext: it never gets ready, so nobody calls it. */
const SIDECAR_IS_READY: Fields = {
  httpGet: { path: '/healthz/ready', port: STATUS_PORT },
  periodSeconds: 1,
  timeoutSeconds: 3,
  failureThreshold: 300,
};
