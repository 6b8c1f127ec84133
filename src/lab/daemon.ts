import { randomUUID } from 'node:crypto';
import type { Host } from '../io/host.ts';
import type { Logger } from '../io/log/logger.ts';
import { MeshError } from '../lib/errors.ts';
import { kindsFor } from '../model/kinds.ts';
import { followMeshConfigMap, type MeshConfigSource } from '../sources/mesh-configuration.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import { type OpenedStore, openStore } from '../sources/store/open.ts';
import { createStoreProblemLog } from '../sources/store/problem-log.ts';
import { Admission } from './admission.ts';
import { Cluster, type FollowedKind } from './cluster.ts';
import { acceptsTcp, answersHttp, ComponentSupervisor } from './control-plane.ts';
import { MixsController } from './controllers/mixs-controller.ts';
import { NamespaceController } from './controllers/namespace-controller.ts';
import { stringMapOf } from './controllers/pod-view.ts';
import { ServiceController } from './controllers/service-controller.ts';
import { WorkloadController } from './controllers/workload-controller.ts';
import { issuedTokens } from './issued-tokens.ts';
import { Kubelet } from './kubelet/kubelet.ts';
import { addKubeletTasks } from './kubelet/kubelet-tasks.ts';
import type { NodeRuntime } from './kubelet/runtime.ts';
import { type Machine, machineOf } from './machine.ts';
import { type MeshInstallation, meshArgv } from './mesh-command.ts';
import { NODE_ADDRESS } from './network/addresses.ts';
import { ServiceNetwork } from './network/service-network.ts';
import { isRootless, nodeRuntime } from './node-runtime.ts';
import { controlPlaneLog, type LabPaths } from './paths.ts';
import { Reconcilers } from './reconcilers.ts';
import { writeHealth } from './run-state.ts';
import { storedPods } from './stored-pods.ts';
import { IMAGES_CONFIG_MAP, ROOT_NAMESPACE, systemObjects } from './system-objects.ts';
import { openTokenIssuer, type TokenIssuer } from './token-issuer.ts';

const DOMAIN = 'cluster.local';

export interface DaemonOptions {
  readonly paths: LabPaths;
  readonly installation: MeshInstallation;
  readonly host: Host;
  readonly logger: Logger;
}

/**
 * The lab's one process: the controllers, the kubelet and the network of its single node, and the control plane under it.
 * Runs inside the lab's namespaces until the host's signal is aborted.
 */
export async function runLabDaemon(options: DaemonOptions): Promise<void> {
  const { paths, host, logger } = options;
  const { signal, names } = host;
  const machine = machineOf(host.env);
  const network = await ServiceNetwork.setUp({ tools: machine.tools, memory: paths.memory, domain: DOMAIN });
  const store = openLabStore(options);
  const issuer = await openTokenIssuer(paths.tokenKey, names, ROOT_NAMESPACE);
  await createMissing(store, systemObjects());

  const tasks = new Reconcilers({ sleep: machine.sleep, logger, signal });
  const onChange = (kind: FollowedKind): void => tasks.trigger(INTERESTED[kind]);
  const cluster = new Cluster({ store, kinds: kindsFor(names), logger, signal, onChange });
  const onMesh = (): void => tasks.trigger(['mixs']);
  const mesh = followMeshConfigMap({ store, namespace: ROOT_NAMESPACE, names, logger, signal, onChange: onMesh });
  const kubelet = new Kubelet({
    pods: storedPods(cluster),
    runtime: runtimeOf(cluster, issuer, machine, options),
    onChange: () => tasks.trigger(['status']),
    onEnded: () => tasks.trigger(['pods']),
  });
  await Promise.all([cluster.synced, mesh.synced]);
  await cluster.put('configMap', issuer.trust);

  addControllers(tasks, cluster, mesh, machine, options);
  addKubeletTasks(tasks, kubelet);
  const updateNetwork = (): Promise<void> => network.update(cluster, kubelet);
  tasks.add('network', updateNetwork);
  // Names come before pods: a proxy that starts without them looks them up again only after a minute.
  await updateNetwork();
  // What an earlier run of the lab said about its pods must be gone before anybody is told that this one is up.
  await kubelet.reconcile();
  await kubelet.report();
  tasks.triggerAll();
  await runControlPlane(machine, options);
  await store.close();
}

function openLabStore({ paths, host, logger }: DaemonOptions): OpenedStore {
  const { env, cwd, now, names } = host;
  const onProblem = createStoreProblemLog(logger);
  return openStore(paths.store, { flag: '--dir', kinds: kindsFor(names), env, cwd, now, newUid: randomUUID, onProblem });
}

function runtimeOf(cluster: Cluster, issuer: TokenIssuer, machine: Machine, { paths, host, logger }: DaemonOptions): NodeRuntime {
  return nodeRuntime({
    ...machine,
    cluster,
    paths,
    host,
    mappedImages: () => stringMapOf(cluster.find('configMap', ROOT_NAMESPACE, IMAGES_CONFIG_MAP)?.['data']),
    token: issuedTokens(cluster, issuer, host.now),
    environment: {},
    domain: DOMAIN,
    logger,
  });
}

function addControllers(
  tasks: Reconcilers,
  cluster: Cluster,
  mesh: MeshConfigSource,
  { random }: Machine,
  { paths, host, logger }: DaemonOptions,
): void {
  const { names, env } = host;
  const namespaces = new NamespaceController(cluster);
  const mixs = new MixsController({ cluster, mesh: mesh.value, names, store: paths.store });
  const services = new ServiceController(cluster, logger);
  const workloads = new WorkloadController({
    cluster,
    admission: new Admission(names, isRootless(env)),
    mesh: mesh.value,
    rootNamespace: ROOT_NAMESPACE,
    random,
    logger,
  });
  tasks.add('namespaces', () => namespaces.reconcile());
  tasks.add('mixs', () => mixs.reconcile());
  tasks.add('workloads', () => workloads.reconcile());
  tasks.add('services', () => services.reconcile());
}

/** Which tasks look at which kinds. */
const INTERESTED: Readonly<Record<FollowedKind, readonly string[]>> = {
  namespace: ['namespaces', 'mixs', 'workloads'],
  serviceAccount: ['namespaces', 'volumes'],
  configMap: ['volumes', 'workloads'],
  secret: ['volumes'],
  service: ['mixs', 'services', 'network'],
  endpointSlice: ['services', 'network'],
  deployment: ['mixs', 'workloads'],
  pod: ['workloads', 'services', 'pods'],
};

async function createMissing(store: ObjectStore, objects: ReturnType<typeof systemObjects>): Promise<void> {
  for (const object of objects) {
    await store.create(object).catch((error: unknown) => {
      if (MeshError.from(error).code !== 'already_exists') throw error;
    });
  }
}

async function runControlPlane({ random, sleep }: Machine, { paths, installation, host, logger }: DaemonOptions): Promise<void> {
  const env = { ...definedOnly(host.env), POD_NAMESPACE: ROOT_NAMESPACE };
  const component = (name: string, args: readonly string[], isReady: () => Promise<boolean>): ComponentSupervisor => {
    const spec = { name, argv: [...meshArgv(installation), ...args], env, logPath: controlPlaneLog(paths, name), isReady };
    return new ComponentSupervisor(spec, { now: host.now, random, sleep, logger, onChange: report });
  };
  const supervisors = [
    component('mesh_ca', ['mesh_ca', '--self-signed-ca', '--orch-config', paths.store], () => acceptsTcp(NODE_ADDRESS, 8060)),
    component('pilot-discovery', ['pilot-discovery', 'discovery', '--orchconfig', paths.store], () =>
      answersHttp(NODE_ADDRESS, 8080, '/ready'),
    ),
  ];
  function report(): void {
    writeHealth(paths, { serving: true, components: supervisors.map(({ health }) => health) });
  }
  report();
  await Promise.all(supervisors.map((supervisor) => supervisor.run(host.signal)));
}

function definedOnly(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
