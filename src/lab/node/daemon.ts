import type { Host } from '../../io/host.ts';
import { createKubernetesClient, type KubernetesClient } from '../../io/kubernetes/client.ts';
import type { Logger } from '../../io/log/logger.ts';
import { buildInfo } from '../../lib/version.ts';
import { kindsFor } from '../../model/kinds.ts';
import { KubernetesStore } from '../../sources/store/kubernetes/kubernetes-store.ts';
import { createStoreProblemLog } from '../../sources/store/problem-log.ts';
import { Cluster, type FollowedKind, NODE_KINDS } from '../cluster.ts';
import { Fields } from '../kubelet/fields.ts';
import { Kubelet } from '../kubelet/kubelet.ts';
import { addKubeletTasks } from '../kubelet/kubelet-tasks.ts';
import type { PodSource } from '../kubelet/pod-source.ts';
import type { NodeRuntime } from '../kubelet/runtime.ts';
import { type Machine, machineOf } from '../machine.ts';
import { NODE_ADDRESS } from '../network/addresses.ts';
import { ServiceNetwork } from '../network/service-network.ts';
import { nodeRuntime } from '../node-runtime.ts';
import type { LabPaths } from '../paths.ts';
import { Reconcilers } from '../reconcilers.ts';
import { writeHealth } from '../run-state.ts';
import { reachedAt, readAccess } from './access.ts';
import { apiServerEnvironment, missingEndpoints, RELAY_PORT, throughRelay } from './api-service.ts';
import { isToBind } from './binder.ts';
import { type HeartbeatOptions, keepAlive, register } from './heartbeat.ts';
import { KUBELET_PORT, serveKubeletApi } from './kubelet-api.ts';
import { NodeApi } from './node-api.ts';
import { nodeLabels } from './node-object.ts';
import { nodePods } from './node-pods.ts';
import { openPassages } from './passages.ts';
import { selfSigned } from './serving-certificate.ts';
import type { NodeSettings } from './settings.ts';
import { requestedTokens } from './tokens.ts';

const DOMAIN = 'cluster.local';

export interface NodeDaemonOptions {
  readonly paths: LabPaths;
  readonly settings: NodeSettings;
  readonly host: Host;
  readonly logger: Logger;
}

/**
 * A lab that is the node of a real cluster: scheduler, kubelet and network. The cluster's own controllers do the rest. Runs inside the
 * lab's namespaces until the host's signal is aborted.
 */
export async function runNodeDaemon(options: NodeDaemonOptions): Promise<void> {
  const { paths, settings, host, logger } = options;
  const { signal, names } = host;
  const machine = machineOf(host.env);
  const network = await ServiceNetwork.setUp({ tools: machine.tools, memory: paths.memory, domain: DOMAIN });
  await openPassages(paths, settings, signal);

  const client = clientOf(machine, options);
  const store = openClusterStore(client, machine, options);
  const api = new NodeApi(client);
  const tasks = new Reconcilers({ sleep: machine.sleep, logger, signal });
  const onChange = (kind: FollowedKind): void => tasks.trigger(INTERESTED[kind] ?? []);
  const cluster = new Cluster({ store, kinds: kindsFor(names), followed: NODE_KINDS, logger, signal, onChange });
  await cluster.synced;

  const pods = nodePods(cluster, api, settings.name);
  const kubelet = new Kubelet({
    pods,
    runtime: runtimeOf(cluster, api, machine, options),
    onChange: () => tasks.trigger(['status']),
    onEnded: () => tasks.trigger(['pods']),
  });
  const labels = nodeLabels(settings.name, settings.labels);
  tasks.add('binding', async () => {
    const waiting = cluster.list('pod').filter((pod) => isToBind(pod, labels));
    await Promise.all(waiting.map((pod) => api.bind(pod, settings.name)));
  });
  addKubeletTasks(tasks, kubelet);
  const updateNetwork = (): Promise<void> => network.update(cluster, kubelet, (addresses) => throughRelay(addresses, cluster));
  tasks.add('network', updateNetwork);
  // Names come before pods: a proxy that starts without them looks them up again only after a minute.
  await updateNetwork();
  const endpoints = missingEndpoints(cluster);
  if (endpoints !== undefined) await cluster.create(endpoints);
  const kubeletPort = await serveLogs({ cluster, api, pods }, machine, options);
  const heartbeat: HeartbeatOptions = {
    ...kubeletPort,
    api,
    name: settings.name,
    labels,
    now: host.now,
    sleep: machine.sleep,
    logger,
    signal,
  };
  await register(heartbeat);
  tasks.triggerAll();
  writeHealth(paths, { serving: true, components: [] });
  await keepAlive(heartbeat);
  await store.close();
}

function clientOf({ sleep }: Machine, { settings, host: { now } }: NodeDaemonOptions): KubernetesClient {
  const access = reachedAt(readAccess(settings.kubeconfig), { host: NODE_ADDRESS, port: RELAY_PORT });
  const userAgent = `mesh/${buildInfo.version}`;
  return createKubernetesClient({ access, flag: '--orchconfig', env: {}, now, sleep, userAgent });
}

function openClusterStore(
  client: KubernetesClient,
  { sleep, random }: Machine,
  { host, logger }: NodeDaemonOptions,
): KubernetesStore {
  return new KubernetesStore({
    client,
    kinds: kindsFor(host.names),
    sleep,
    elapsed: () => performance.now(),
    random,
    onProblem: createStoreProblemLog(logger),
  });
}

function runtimeOf(cluster: Cluster, api: NodeApi, machine: Machine, options: NodeDaemonOptions): NodeRuntime {
  const { paths, settings, host, logger } = options;
  return nodeRuntime({
    ...machine,
    cluster,
    paths,
    host,
    mappedImages: () => settings.images,
    token: requestedTokens(api, host.now),
    environment: apiServerEnvironment(cluster),
    domain: DOMAIN,
    logger,
  });
}

interface Served {
  readonly cluster: Cluster;
  readonly api: NodeApi;
  readonly pods: PodSource;
}

/** Serves what `kubectl logs` asks for, where it can be told who may; gives the port then. */
async function serveLogs(
  { cluster, api, pods }: Served,
  { sleep }: Machine,
  { paths, settings: { name }, host, logger }: NodeDaemonOptions,
): Promise<{ readonly kubeletPort?: number }> {
  const clientAuthority = clientAuthorityOf(cluster);
  if (clientAuthority === undefined) {
    logger.warn('kubectl logs will not work: the cluster does not say who signs its certificates');
    return {};
  }
  await serveKubeletApi({
    host: NODE_ADDRESS,
    port: KUBELET_PORT,
    ...(await selfSigned(`system:node:${name}`, NODE_ADDRESS, host.now())),
    clientAuthority,
    mayCall: (caller, verb) => api.mayProxy(name, verb, caller),
    pods: pods.list,
    paths,
    sleep,
    logger,
    signal: host.signal,
  });
  return { kubeletPort: KUBELET_PORT };
}

/** Who signs the client certificates that the API server takes, which it publishes for servers that it calls. */
function clientAuthorityOf(cluster: Pick<Cluster, 'find'>): string | undefined {
  const map = cluster.find('configMap', 'kube-system', 'extension-apiserver-authentication');
  return new Fields(map?.['data'], 'data', []).string('client-ca-file');
}

/** Which tasks look at which kinds. */
const INTERESTED: Readonly<Partial<Record<FollowedKind, readonly string[]>>> = {
  configMap: ['volumes'],
  secret: ['volumes'],
  service: ['network'],
  endpointSlice: ['network'],
  pod: ['binding', 'pods', 'status'],
};
