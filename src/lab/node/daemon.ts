import { setTimeout as delay } from 'node:timers/promises';
import type { Host } from '../../io/host.ts';
import { createKubernetesClient } from '../../io/kubernetes/client.ts';
import type { Logger } from '../../io/log/logger.ts';
import type { Duration } from '../../lib/duration.ts';
import { formatProblem } from '../../lib/errors.ts';
import { buildInfo } from '../../lib/version.ts';
import { kindsFor } from '../../model/kinds.ts';
import { KubernetesStore } from '../../sources/store/kubernetes/kubernetes-store.ts';
import { Cluster, type FollowedKind, NODE_KINDS } from '../cluster.ts';
import { serviceView } from '../controllers/service-view.ts';
import { Fields } from '../kubelet/fields.ts';
import { Kubelet } from '../kubelet/kubelet.ts';
import { memoryPaths } from '../kubelet/running-pod.ts';
import { NODE_ADDRESS } from '../network/addresses.ts';
import { RESOLV_CONF } from '../network/hosts.ts';
import { NodeNames } from '../network/node-names.ts';
import { NodeNetwork } from '../network/node-network.ts';
import { serviceAddresses, serviceNames } from '../network/service-addresses.ts';
import { nodeRuntime } from '../node-runtime.ts';
import type { LabPaths } from '../paths.ts';
import { Reconciler } from '../reconciler.ts';
import { writeHealth } from '../run-state.ts';
import { findTools } from '../tools.ts';
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
export async function runNodeDaemon({ paths, settings, host, logger }: NodeDaemonOptions): Promise<void> {
  const { signal, names, now } = host;
  const { name } = settings;
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
  await openPassages(paths, settings, signal);

  const access = reachedAt(readAccess(settings.kubeconfig), { host: NODE_ADDRESS, port: RELAY_PORT });
  const userAgent = `mesh/${buildInfo.version}`;
  const client = createKubernetesClient({ access, flag: '--orchconfig', env: {}, now, sleep, userAgent });
  const kinds = kindsFor(names);
  const store = new KubernetesStore({
    client,
    kinds,
    sleep,
    elapsed: () => performance.now(),
    random,
    onProblem: (problems) => {
      for (const problem of problems) logger.warn('the cluster cannot be followed', { problem: formatProblem(problem) });
    },
  });
  const api = new NodeApi(client);

  const reconcilers = new Map<string, Reconciler>();
  const reconciler = (task: string, reconcile: () => Promise<void> | void): void => {
    reconcilers.set(task, new Reconciler({ name: task, reconcile, sleep, logger, signal }));
  };
  const trigger = (task: string): void => reconcilers.get(task)?.trigger();
  const onChange = (kind: FollowedKind): void => INTERESTED[kind]?.forEach(trigger);
  const cluster = new Cluster({ store, kinds, followed: NODE_KINDS, logger, signal, onChange });
  await cluster.synced;

  const runtime = nodeRuntime({
    cluster,
    tools,
    paths,
    host,
    mappedImages: () => settings.images,
    token: requestedTokens(api, now),
    environment: apiServerEnvironment(cluster),
    domain: DOMAIN,
    logger,
    random,
    sleep,
  });
  const pods = nodePods(cluster, api, name);
  const kubelet = new Kubelet({
    pods,
    runtime,
    onChange: () => trigger('status'),
    onEnded: () => trigger('pods'),
  });
  const labels = nodeLabels(name, settings.labels);
  reconciler('binding', async () => {
    const waiting = cluster.list('pod').filter((pod) => isToBind(pod, labels));
    await Promise.all(waiting.map((pod) => api.bind(pod, name)));
  });
  reconciler('pods', () => kubelet.reconcile());
  reconciler('volumes', () => kubelet.refreshVolumes());
  reconciler('status', () => kubelet.report());
  const reconcileNetwork = async (): Promise<void> => {
    const views = cluster.list('service').map(serviceView);
    const slices = cluster.list('endpointSlice');
    const resolvable = serviceNames(views, slices);
    kubelet.setNames(resolvable);
    nodeNames.set(resolvable);
    await network.setServices(throughRelay(serviceAddresses(views, slices), cluster));
  };
  reconciler('network', reconcileNetwork);
  // Names come before pods: a proxy that starts without them looks them up again only after a minute.
  await reconcileNetwork();
  const endpoints = missingEndpoints(cluster);
  if (endpoints !== undefined) await cluster.create(endpoints);
  const clientAuthority = clientAuthorityOf(cluster);
  if (clientAuthority === undefined)
    logger.warn('kubectl logs will not work: the cluster does not say who signs its certificates');
  else
    await serveKubeletApi({
      host: NODE_ADDRESS,
      port: KUBELET_PORT,
      ...(await selfSigned(`system:node:${name}`, NODE_ADDRESS, now())),
      clientAuthority,
      mayCall: (caller, verb) => api.mayProxy(name, verb, caller),
      pods: pods.list,
      paths,
      sleep,
      logger,
      signal,
    });
  const kubeletPort = clientAuthority === undefined ? {} : { kubeletPort: KUBELET_PORT };
  const heartbeat: HeartbeatOptions = { api, name, labels, ...kubeletPort, now, sleep, logger, signal };
  await register(heartbeat);
  for (const task of reconcilers.keys()) trigger(task);
  writeHealth(paths, { serving: true, components: [] });
  await keepAlive(heartbeat);
  await store.close();
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
