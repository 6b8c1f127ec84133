/** Everything a snapshot is made from, followed in the stores. */
import type { Logger } from '../io/log/logger.ts';
import { type Duration, seconds } from '../lib/duration.ts';
import type { Problem } from '../lib/errors.ts';
import type { Names } from '../lib/names.ts';
import { mergeServices, type RemoteCluster } from '../model/remote-cluster.ts';
import { describeService, type Service } from '../model/service.ts';
import type { SnapshotInputs } from '../model/snapshot.ts';
import { followMeshConfigFile, followMeshConfigMap, type MeshConfigSource } from '../sources/mesh-configuration.ts';
import { followPolicies } from '../sources/policies.ts';
import { followKubernetes } from '../sources/registries/kubernetes.ts';
import {
  followRemoteClusters,
  type RemoteClusterStatus,
  type RemoteClusters,
  type RemoteClustersOptions,
} from '../sources/registries/remote-clusters.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import type { DiscoveryConfig } from './config.ts';
import { type KeySetCache, openKeySetCache } from './key-set-cache.ts';
import { createKeySets } from './key-sets.ts';

export interface Inputs {
  /** The state of everything right now. */
  current(): SnapshotInputs;
  problems(): readonly Problem[];
  /** How it is with each of the clusters of `--clusterRegistriesConfigMap`. */
  remoteClusters(): readonly RemoteClusterStatus[];
  /** What has not been read yet; empty when everything has. */
  waitingFor(): readonly string[];
  readonly synced: Promise<void>;
  /** Whether keys that the policies need have not been asked for yet, neither with success nor without. */
  untriedKeys(): boolean;
}

export interface InputOptions {
  readonly config: Pick<
    DiscoveryConfig,
    'namespace' | 'appNamespace' | 'domain' | 'meshConfigFile' | 'clusterRegistries' | 'resync'
  >;
  readonly registryStore: ObjectStore;
  readonly configStore: ObjectStore;
  readonly names: Names;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  readonly onChange: () => void;
  readonly onKeySetFetch: (success: boolean) => void;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export async function followInputs(options: InputOptions): Promise<Inputs> {
  const { config, names, onChange, logger, signal } = options;
  const common = {
    names,
    onChange,
    logger,
    signal,
    ...(config.appNamespace === undefined ? {} : { namespace: config.appNamespace }),
  };
  const { promise: keysTried, resolve: markKeysTried } = Promise.withResolvers<void>();
  const onKeys = (): void => {
    if (!keySets.untried()) markKeysTried();
    onChange();
  };
  const cache = await openCache(options);
  const keySets = createKeySets({ logger, signal, onChange: onKeys, onFetch: options.onKeySetFetch, cache });
  const registry = followKubernetes({ ...common, store: options.registryStore, domain: config.domain });
  const remotes = followRemotes(options, common);
  // Keys that a new policy needs are asked for at once: when they come while changes are still being folded, there is no snapshot
  // that refuses good tokens for want of them.
  const onPolicies = (): void => {
    keySets.follow(policies.values());
    onChange();
  };
  const policies = followPolicies({ ...common, onChange: onPolicies, store: options.configStore });
  const mesh = await followMesh(options);
  const waiting = new Map<string, Promise<void>>([
    ['services, endpoints and pods', registry.synced],
    ['policies', policies.synced],
    ...(remotes === undefined ? [] : ([['remote clusters', remotes.synced]] as const)),
    ['mesh configuration', mesh.synced],
  ]);
  const listed = Promise.all(waiting.values()).then(() => keySets.follow(policies.values()));
  waiting.set(
    'key sets',
    listed.then(() => (keySets.untried() ? Promise.race([keysTried, abortableDelay(KEY_SET_PATIENCE, signal)]) : undefined)),
  );
  const synced = Promise.all(waiting.values()).then(() => undefined);
  for (const [name, promise] of waiting) promise.then(() => waiting.delete(name)).catch(() => {});

  return {
    current() {
      const inForce = policies.values();
      keySets.follow(inForce);
      return {
        mesh: mesh.value(),
        domain: config.domain,
        services: registry.services(),
        endpointSlices: registry.endpointSlices(),
        workloads: registry.workloads(),
        nodes: registry.nodes(),
        ...(remotes === undefined ? {} : { remotes: remotes.values() }),
        policies: inForce,
        jwks: keySets.documents(),
      };
    },
    problems: () => [
      ...registry.problems(),
      ...(remotes === undefined ? [] : [...remotes.problems(), ...leftOut(registry.services(), remotes.values())]),
      ...policies.problems(),
      ...mesh.problems(),
    ],
    remoteClusters: () => remotes?.statuses() ?? [],
    waitingFor: () => [...waiting.keys()],
    untriedKeys: () => keySets.untried(),
    synced,
  };
}

function leftOut(services: readonly Service[], remotes: readonly RemoteCluster[]): readonly Problem[] {
  return mergeServices(services, remotes).leftOut.map(({ service, message }) => ({
    path: `Service ${describeService(service)}`,
    message,
  }));
}

function followRemotes(
  { config, registryStore, env, now }: InputOptions,
  common: Omit<RemoteClustersOptions, 'store' | 'configMap' | 'domain' | 'resync' | 'env' | 'now'>,
): RemoteClusters | undefined {
  const { clusterRegistries: configMap, domain, resync } = config;
  return configMap && followRemoteClusters({ ...common, store: registryStore, configMap, domain, resync, env, now });
}

/** A key set that does not come in this time is waited for no longer: its policies start closed. */
const KEY_SET_PATIENCE = seconds(6);

function abortableDelay(delay: Duration, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, delay);
    timer.unref();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function followMesh(options: InputOptions): Promise<MeshConfigSource> | MeshConfigSource {
  const { config, names, onChange, logger, signal } = options;
  const { namespace } = config;
  if (config.meshConfigFile !== undefined) {
    return followMeshConfigFile({ path: config.meshConfigFile, namespace, onChange, logger, signal });
  }
  return followMeshConfigMap({ store: options.configStore, namespace, names, onChange, logger, signal });
}

/** In the directory that the operator gives a service for such things: the environment variable of systemd.exec(5). */
async function openCache({ env, now, logger, signal }: InputOptions): Promise<KeySetCache | undefined> {
  const [directory = ''] = (env['CACHE_DIRECTORY'] ?? '').split(':');
  return directory === '' ? undefined : openKeySetCache({ directory, now, logger, signal });
}
