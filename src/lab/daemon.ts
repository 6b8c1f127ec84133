import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Host } from '../io/host.ts';
import type { Logger } from '../io/log/logger.ts';
import type { Duration } from '../lib/duration.ts';
import { formatProblem, MeshError } from '../lib/errors.ts';
import { kindsFor } from '../model/kinds.ts';
import { followMeshConfigMap } from '../sources/mesh-configuration.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import { openStore } from '../sources/store/open.ts';
import { Admission } from './admission.ts';
import { Cluster, type FollowedKind } from './cluster.ts';
import { acceptsTcp, answersHttp, ComponentSupervisor } from './control-plane.ts';
import { MixsController } from './controllers/mixs-controller.ts';
import { NamespaceController } from './controllers/namespace-controller.ts';
import { stringMapOf } from './controllers/pod-view.ts';
import { ServiceController } from './controllers/service-controller.ts';
import { serviceView } from './controllers/service-view.ts';
import { WorkloadController } from './controllers/workload-controller.ts';
import { issuedTokens } from './issued-tokens.ts';
import { Kubelet } from './kubelet/kubelet.ts';
import { memoryPaths } from './kubelet/running-pod.ts';
import { type MeshInstallation, meshArgv } from './mesh-command.ts';
import { NODE_ADDRESS } from './network/addresses.ts';
import { RESOLV_CONF } from './network/hosts.ts';
import { NodeNames } from './network/node-names.ts';
import { NodeNetwork } from './network/node-network.ts';
import { serviceAddresses, serviceNames } from './network/service-addresses.ts';
import { isRootless, nodeRuntime } from './node-runtime.ts';
import { controlPlaneLog, type LabPaths } from './paths.ts';
import { Reconciler } from './reconciler.ts';
import { writeHealth } from './run-state.ts';
import { storedPods } from './stored-pods.ts';
import { IMAGES_CONFIG_MAP, ROOT_NAMESPACE, systemObjects } from './system-objects.ts';
import { openTokenIssuer } from './token-issuer.ts';
import { findTools, type Tools } from './tools.ts';

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
export async function runLabDaemon({ paths, installation, host, logger }: DaemonOptions): Promise<void> {
  const { signal, names, now } = host;
  const tools = findTools(host.env['PATH']);
  const random = Math.random;
  const sleep = (time: Duration, until: AbortSignal): Promise<void> => delay(time, undefined, { signal: until });
  const network = new NodeNetwork(tools);
  await network.setUp();
  const nodeNames = new NodeNames({
    hosts: `${paths.memory}/${memoryPaths.hosts('node')}`,
    resolvConf: `${paths.memory}/${memoryPaths.resolvConf}`,
    tools,
    domain: DOMAIN,
  });
  await nodeNames.setUp(RESOLV_CONF);

  const kinds = kindsFor(names);
  const store = openStore(paths.store, {
    flag: '--dir',
    kinds,
    env: host.env,
    cwd: host.cwd,
    now,
    newUid: randomUUID,
    onProblem: (problems) => {
      for (const problem of problems)
        logger.warn('a file of the store is bad; its last good content stays in force', { problem: formatProblem(problem) });
    },
  });
  const issuer = await openTokenIssuer(paths.tokenKey, names, ROOT_NAMESPACE);
  await createMissing(store, systemObjects());

  const reconcilers = new Map<string, Reconciler>();
  const reconciler = (name: string, reconcile: () => Promise<void> | void): void => {
    reconcilers.set(name, new Reconciler({ name, reconcile, sleep, logger, signal }));
  };
  const trigger = (name: string): void => reconcilers.get(name)?.trigger();
  const cluster = new Cluster({ store, kinds, logger, signal, onChange: (kind) => INTERESTED[kind].forEach(trigger) });
  const mesh = followMeshConfigMap({ store, namespace: ROOT_NAMESPACE, names, logger, signal, onChange: () => trigger('mixs') });
  const runtime = nodeRuntime({
    cluster,
    tools,
    paths,
    host,
    mappedImages: () => stringMapOf(cluster.find('configMap', ROOT_NAMESPACE, IMAGES_CONFIG_MAP)?.['data']),
    token: issuedTokens(cluster, issuer, now),
    environment: {},
    domain: DOMAIN,
    logger,
    random,
    sleep,
  });
  const kubelet = new Kubelet({
    pods: storedPods(cluster),
    runtime,
    onChange: () => trigger('status'),
    onEnded: () => trigger('pods'),
  });
  const namespaces = new NamespaceController(cluster);
  const mixs = new MixsController({ cluster, mesh: mesh.value, names, store: paths.store });
  const services = new ServiceController(cluster, logger);
  const workloads = new WorkloadController({
    cluster,
    admission: new Admission(names, isRootless(host.env)),
    mesh: mesh.value,
    rootNamespace: ROOT_NAMESPACE,
    random,
    logger,
  });
  await Promise.all([cluster.synced, mesh.synced]);
  await cluster.put('configMap', issuer.trust);

  reconciler('namespaces', () => namespaces.reconcile());
  reconciler('mixs', () => mixs.reconcile());
  reconciler('workloads', () => workloads.reconcile());
  reconciler('services', () => services.reconcile());
  reconciler('pods', () => kubelet.reconcile());
  reconciler('volumes', () => kubelet.refreshVolumes());
  reconciler('status', () => kubelet.report());
  const reconcileNetwork = async (): Promise<void> => {
    const views = cluster.list('service').map(serviceView);
    const slices = cluster.list('endpointSlice');
    const resolvable = serviceNames(views, slices);
    kubelet.setNames(resolvable);
    nodeNames.set(resolvable);
    await network.setServices(serviceAddresses(views, slices));
  };
  reconciler('network', reconcileNetwork);
  // Names come before pods: a proxy that starts without them looks them up again only after a minute.
  await reconcileNetwork();
  // What an earlier run of the lab said about its pods must be gone before anybody is told that this one is up.
  await kubelet.reconcile();
  await kubelet.report();
  for (const name of reconcilers.keys()) trigger(name);
  await runControlPlane({ paths, installation, host, logger, tools, random, sleep });
  await store.close();
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

type ControlPlaneParts = DaemonOptions & {
  readonly tools: Tools;
  readonly random: () => number;
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
};

async function runControlPlane({ paths, installation, host, logger, random, sleep }: ControlPlaneParts): Promise<void> {
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
