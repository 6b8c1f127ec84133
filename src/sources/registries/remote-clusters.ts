/** The clusters that a ConfigMap names, each with a kubeconfig in a Secret; both are followed, so that clusters come and go. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openRemoteKubeconfig } from '../../io/kubernetes/open-client.ts';
import type { Logger } from '../../io/log/logger.ts';
import { type Duration, seconds } from '../../lib/duration.ts';
import type { Problem } from '../../lib/errors.ts';
import type { Names } from '../../lib/names.ts';
import type { RegisteredCluster } from '../../model/cluster-registry.ts';
import { kindsFor } from '../../model/kinds.ts';
import { parseClusterRegistry, type RegistryEntry } from '../../model/parse/cluster-registry.ts';
import type { RemoteCluster } from '../../model/remote-cluster.ts';
import { followKind } from '../collection.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { type OpenedStore, openKubernetesStore } from '../store/open.ts';
import { followKubeconfigSecrets } from './kubeconfig-secrets.ts';
import { followKubernetes } from './kubernetes.ts';
import { RemoteClusterFollower, type RemoteState } from './remote-cluster.ts';

export interface RemoteClusters {
  /** What each of them adds, sorted by name; a lost one adds what it had last. */
  values(): readonly RemoteCluster[];
  statuses(): readonly RemoteClusterStatus[];
  problems(): readonly Problem[];
  /** Resolves when every cluster has been read once, or has been waited for long enough. */
  readonly synced: Promise<void>;
}

export interface RemoteClusterStatus {
  readonly name: string;
  /** `namespace/name` of the Secret with its kubeconfig. */
  readonly secret: string;
  readonly state: RemoteState;
  readonly services: number;
  readonly endpoints: number;
  readonly problems: readonly string[];
}

export interface RemoteClustersOptions {
  /** Holds ConfigMap and Secrets. */
  readonly store: ObjectStore;
  /** Namespace and name of the ConfigMap. */
  readonly configMap: { readonly namespace: string; readonly name: string };
  /** Only this namespace of each cluster; absent: all. */
  readonly namespace?: string;
  readonly domain: string;
  readonly names: Names;
  readonly resync: Duration;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  readonly onChange: () => void;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** No start waits longer for clusters that may be far away, or gone. */
const PATIENCE: Duration = seconds(5);

const MISSING = 'does not exist; it is to name the remote clusters (--clusterRegistriesConfigMap)';

interface Followed {
  readonly registered: RegisteredCluster;
  readonly follower: RemoteClusterFollower;
}

export function followRemoteClusters(options: RemoteClustersOptions): RemoteClusters {
  const { store, configMap, names, onChange, logger, signal } = options;
  const { namespace, name } = configMap;
  const clusters = new Map<string, Followed>();
  let listed = false;
  const found = (): readonly RegistryEntry[] | undefined => maps.values().find((value) => value !== undefined);
  const entries = (): readonly RegistryEntry[] => found() ?? [];

  const reconcile = (): void => {
    if (signal.aborted) return;
    const wanted = entries().flatMap((entry) => (entry.ok ? [entry.cluster] : (clusters.get(entry.key)?.registered ?? [])));
    const gone = [...clusters.keys()].filter((key) => !wanted.some((cluster) => cluster.name === key));
    for (const key of gone) {
      clusters.get(key)?.follower.close();
      clusters.delete(key);
      logger.info('remote cluster is followed no longer', { cluster: key });
    }
    for (const registered of wanted) {
      const follower = clusters.get(registered.name)?.follower ?? newFollower(registered.name, options);
      clusters.set(registered.name, { registered, follower });
      follower.use(secrets.kubeconfigOf(registered));
    }
    secrets.keep(wanted);
    if (gone.length > 0) onChange();
  };
  const secrets = followKubeconfigSecrets({ store, names, onChange: reconcile, logger, signal });
  const maps = followKind<readonly RegistryEntry[] | undefined>({
    store,
    kind: kindsFor(names).configMap,
    namespace,
    fieldSelector: `metadata.name=${name}`,
    parse: (object) => ({
      ok: true,
      value: object.metadata.name === name ? parseClusterRegistry(object, names, namespace) : undefined,
    }),
    onChange: reconcile,
    logger,
    signal,
  });
  const sorted = (): readonly Followed[] => [...clusters].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, followed]) => followed);
  const closeAll = (): void => {
    for (const { follower } of clusters.values()) follower.close();
  };
  signal.addEventListener('abort', closeAll, { once: true });

  return {
    values: () => sorted().flatMap(({ follower }) => follower.value() ?? []),
    statuses: () => sorted().map(statusOf),
    problems: () => [
      ...(listed && found() === undefined ? [{ path: `ConfigMap ${namespace}/${name}`, message: MISSING }] : []),
      ...entries().flatMap((entry) => (entry.ok ? [] : entry.problems.map((problem) => inConfigMap(problem, configMap)))),
      ...sorted().flatMap(({ follower }) => follower.problems()),
    ],
    synced: maps.synced.then(() => {
      listed = true;
      reconcile();
      return patiently(
        sorted().map(({ follower }) => follower.synced),
        signal,
      );
    }),
  };
}

function newFollower(name: string, options: RemoteClustersOptions): RemoteClusterFollower {
  const { env, now, names, resync, domain, namespace, onChange, logger } = options;
  const open = (kubeconfig: string, onProblem: () => void): OpenedStore => {
    const client = openRemoteKubeconfig(kubeconfig, { flag: `remote cluster ${name}`, env, now });
    return openKubernetesStore(client, { kinds: kindsFor(names), resync, onProblem });
  };
  return new RemoteClusterFollower({
    name,
    open,
    follow: (store, signal) =>
      followKubernetes({
        store,
        cluster: name,
        domain,
        names,
        onChange,
        logger,
        signal,
        ...(namespace === undefined ? {} : { namespace }),
      }),
    onChange,
    logger,
  });
}

function statusOf({ registered, follower }: Followed): RemoteClusterStatus {
  const value = follower.value();
  return {
    name: registered.name,
    secret: `${registered.secret.namespace}/${registered.secret.name}`,
    state: follower.state,
    services: value?.services.length ?? 0,
    endpoints: value?.endpointSlices.reduce((sum, { endpoints }) => sum + endpoints.length, 0) ?? 0,
    problems: follower.problems().map(({ message }) => message),
  };
}

function inConfigMap(problem: Problem, { namespace, name }: RemoteClustersOptions['configMap']): Problem {
  return { ...problem, path: `ConfigMap ${namespace}/${name}: ${problem.path}` };
}

async function patiently(all: readonly Promise<void>[], signal: AbortSignal): Promise<void> {
  if (all.length === 0) return;
  const waiting = new AbortController();
  const delay = sleep(PATIENCE, undefined, { signal: AbortSignal.any([signal, waiting.signal]), ref: false }).catch(() => {});
  await Promise.race([Promise.all(all), delay]);
  waiting.abort();
  await delay;
}
