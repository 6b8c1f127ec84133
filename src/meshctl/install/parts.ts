/** Kubernetes objects as the installation needs them: one function a kind, what all components share said once. */
import type { KubeObject } from '../../model/object.ts';

type Json = string | number | boolean | readonly Json[] | { readonly [field: string]: Json };
export type Fields = { readonly [field: string]: Json };

export interface Component {
  /** Of its Deployment, Service and label `mesh`. */
  readonly name: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

export interface PodParts {
  readonly replicas: number;
  readonly image: string;
  /** The words after `mesh`. */
  readonly args: readonly string[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  /** Until it has succeeded once, nothing else is asked. */
  readonly startupProbe?: Fields;
  readonly readinessProbe: Fields;
  readonly livenessProbe: Fields;
  readonly resources: { readonly cpu: string; readonly memory: string };
  readonly mounts?: readonly (Mount & { readonly volume: Fields })[];
  /** Of its pods, beside what they are selected by. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Mount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
}

export interface PortMapping {
  readonly name: string;
  readonly port: number;
  readonly targetPort: number;
}

/** User and group of the control plane's processes. */
const USER = 65532;

const labelsOf = (component: Component): Fields => ({ app: component.name, mesh: 'control-plane' });

export function serviceAccount({ serviceAccount: name, namespace }: Component): KubeObject {
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } };
}

/** A Service of the component's pods, of its name unless it has several. */
export function service(component: Component, ports: readonly PortMapping[], name = component.name): KubeObject {
  const { namespace } = component;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, labels: { app: component.name } },
    spec: { selector: labelsOf(component), ports: ports.map((port) => ({ ...port, protocol: 'TCP' })) },
  };
}

/** Voluntary evictions leave one of several replicas. Of a single one there is none: it would keep its node from ever being drained. */
export function disruptionBudget(component: Component, replicas: number): readonly KubeObject[] {
  if (replicas === 1) return [];
  const { name, namespace } = component;
  const spec = { minAvailable: 1, selector: { matchLabels: labelsOf(component) } };
  return [{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name, namespace }, spec }];
}

export function deployment(component: Component, parts: PodParts): KubeObject {
  const { name, namespace } = component;
  const labels = labelsOf(component);
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels: { app: name } },
    spec: {
      replicas: parts.replicas,
      selector: { matchLabels: labels },
      // A new one serves before an old one goes.
      strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: {
        metadata: {
          labels: { ...labels, ...parts.labels },
          ...(parts.annotations === undefined ? {} : { annotations: parts.annotations }),
        },
        spec: {
          serviceAccountName: component.serviceAccount,
          securityContext: {
            runAsUser: USER,
            runAsGroup: USER,
            runAsNonRoot: true,
            fsGroup: USER,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          ...(parts.replicas === 1 ? {} : { affinity: apart(labels) }),
          containers: [container(component, parts)],
          ...(parts.mounts === undefined
            ? {}
            : { volumes: parts.mounts.map(({ name: mount, volume }) => ({ name: mount, ...volume })) }),
        },
      },
    },
  };
}

/** On nodes of their own where there are enough, so that one node's end leaves the others. */
function apart(labels: Fields): Fields {
  const term = { labelSelector: { matchLabels: labels }, topologyKey: 'kubernetes.io/hostname' };
  return {
    podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: term }] },
  };
}

/** A process that takes this many times what it was given room for has a defect, and must not take the node with it. */
const MEMORY_LIMIT_FACTOR = 4;

/** In the form that the API server stores, so that several appliers of one object say the same. */
function memoryLimit(request: string): string {
  const [, amount = ''] = /^(\d+)Mi$/.exec(request) ?? [];
  if (amount === '') throw new Error(`${request} is no quantity of memory in Mi`);
  const limit = Number(amount) * MEMORY_LIMIT_FACTOR;
  return limit % 1024 === 0 ? `${limit / 1024}Gi` : `${limit}Mi`;
}

function container({ name }: Component, parts: PodParts): Fields {
  const mounts = parts.mounts?.map(({ name: mount, mountPath, readOnly = true }) => ({
    name: mount,
    mountPath,
    ...(readOnly ? { readOnly } : {}),
  }));
  return {
    name,
    image: parts.image,
    command: ['mesh'],
    args: parts.args,
    env: [
      { name: 'POD_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
      { name: 'POD_NAMESPACE', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } } },
    ],
    ports: parts.ports,
    ...(parts.startupProbe === undefined ? {} : { startupProbe: parts.startupProbe }),
    readinessProbe: parts.readinessProbe,
    livenessProbe: parts.livenessProbe,
    resources: { requests: parts.resources, limits: { memory: memoryLimit(parts.resources.memory) } },
    securityContext: {
      allowPrivilegeEscalation: false,
      privileged: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    ...(mounts === undefined ? {} : { volumeMounts: mounts }),
  };
}

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** A ClusterRole for the component's account, bound to it. */
export function clusterRights({ serviceAccount: account, namespace }: Component, rules: readonly Rule[]): readonly KubeObject[] {
  const name = `${account}-${namespace}`;
  return [
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name: account, namespace }],
    },
  ];
}

/** A Role in the control plane's own namespace, bound to the component's account. */
export function ownNamespaceRights(
  { serviceAccount: name, namespace }: Component,
  rules: readonly Rule[],
): readonly KubeObject[] {
  const metadata = { name, namespace };
  return [
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata, rules },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  ];
}
