import { NAMESPACE_LABEL, NAMESPACE_LABEL_VALUE } from '../../injection/decision.ts';
import type { Names } from '../../lib/names.ts';
import type { MeshConfig } from '../../model/mesh-config.ts';
import type { KubeObject } from '../../model/object.ts';
import type { Cluster, FollowedKind } from '../cluster.ts';
import { ROOT_NAMESPACE } from '../system-objects.ts';

const NAME = 'mixs';
/** The names that the mesh configuration may give the one server by. */
const SERVICES = ['mesh-policy', 'mesh-telemetry'];
const STORE = '/etc/mesh/store';
const PORTS = [
  { name: 'grpc-mixs', port: 9091 },
  { name: 'http-monitoring', port: 9093 },
];

export interface MixsControllerOptions {
  readonly cluster: Cluster;
  readonly mesh: () => MeshConfig;
  readonly names: Names;
  /** Directory of the lab's objects. */
  readonly store: string;
}

/**
 * Runs mixs as a pod of the control plane as long as the mesh configuration names one of its services. It has a sidecar, so that it is
 * called by mutual TLS like any other workload; the objects are made once, and a user may change them.
 */
export class MixsController {
  readonly #options: MixsControllerOptions;

  constructor(options: MixsControllerOptions) {
    this.#options = options;
  }

  async reconcile(): Promise<void> {
    const { cluster } = this.#options;
    const isWanted = isNamed(this.#options.mesh());
    if (isWanted) await this.#chooseNamespace();
    for (const { kind, object } of this.#objects()) {
      const existing = cluster.find(kind, ROOT_NAMESPACE, object.metadata.name);
      if (isWanted && existing === undefined) await cluster.create(object);
      if (!isWanted && existing !== undefined && this.#isOurs(existing)) await cluster.delete(kind, existing);
    }
  }

  /** Pods of chosen namespaces alone get sidecars. */
  async #chooseNamespace(): Promise<void> {
    const { cluster } = this.#options;
    const namespace = cluster.find('namespace', undefined, ROOT_NAMESPACE);
    if (namespace === undefined || namespace.metadata.labels?.[NAMESPACE_LABEL] !== undefined) return;
    const labels = { ...namespace.metadata.labels, [NAMESPACE_LABEL]: NAMESPACE_LABEL_VALUE };
    await cluster.replace({ ...namespace, metadata: { ...namespace.metadata, labels } });
  }

  #objects(): readonly { readonly kind: FollowedKind; readonly object: KubeObject }[] {
    return [
      { kind: 'serviceAccount', object: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: this.#metadata(NAME) } },
      ...SERVICES.map((name) => ({ kind: 'service' as const, object: this.#service(name) })),
      { kind: 'deployment', object: this.#deployment() },
    ];
  }

  get #label(): string {
    return `lab.${this.#options.names.domain}/part-of`;
  }

  #isOurs({ metadata }: KubeObject): boolean {
    return metadata.labels?.[this.#label] === NAME;
  }

  #metadata(name: string): KubeObject['metadata'] {
    return { name, namespace: ROOT_NAMESPACE, labels: { [this.#label]: NAME } };
  }

  #service(name: string): KubeObject {
    return {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: this.#metadata(name),
      spec: { selector: { app: NAME }, ports: PORTS.map((port) => ({ ...port, targetPort: port.port, protocol: 'TCP' })) },
    };
  }

  #deployment(): KubeObject {
    const labels = { app: NAME };
    const annotations = { [`sidecar.${this.#options.names.domain}/inject`]: 'true' };
    const container = {
      name: NAME,
      image: 'mesh/mesh',
      args: ['mixs', 'server', '--configStoreURL', `fs://${STORE}`],
      ports: PORTS.map(({ name, port }) => ({ name, containerPort: port, protocol: 'TCP' })),
      volumeMounts: [{ name: 'store', mountPath: STORE, readOnly: true }],
      readinessProbe: { httpGet: { path: '/version', port: 9093 }, periodSeconds: 1 },
    };
    const volumes = [{ name: 'store', hostPath: { path: this.#options.store } }];
    return {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: this.#metadata(NAME),
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels, annotations },
          spec: { serviceAccountName: NAME, terminationGracePeriodSeconds: 5, containers: [container], volumes },
        },
      },
    };
  }
}

function isNamed({ mixerCheckServer, mixerReportServer }: MeshConfig): boolean {
  const services = SERVICES.map((name) => `${name}.${ROOT_NAMESPACE}.`);
  return [mixerCheckServer, mixerReportServer].some((server) => services.some((name) => server?.host.startsWith(name) === true));
}
