/** Gives every namespace the roots that its workloads trust: ConfigMap `mesh-ca-root-cert`, key `root-cert.pem`. */

import type { Logger } from '../io/log/logger.ts';
import type { Backoff } from '../lib/backoff.ts';
import { type Duration, formatDuration, milliseconds, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import type { Kinds } from '../model/kinds.ts';
import { describeRef, type KubeObject, type ObjectRef } from '../model/object.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import { type Followed, followEach } from './follow-each.ts';
import type { Leadership } from './leadership.ts';
import type { Missing } from './spread.ts';
import { WorkQueue } from './work-queue.ts';

export const ROOT_CONFIG_MAP = 'mesh-ca-root-cert';
export const ROOT_KEY = 'root-cert.pem';

export interface PublisherOptions {
  readonly store: ObjectStore;
  readonly kinds: Kinds;
  /** What is to be published now. */
  readonly rootPem: () => string;
  /** This one and no other; undefined: every namespace that there is. */
  readonly only: string | undefined;
  /** Only a leader writes. */
  readonly leadership: Pick<Leadership, 'term' | 'onTerm'>;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Rejects when the signal is aborted. */
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface RootPublisher {
  /** Writes the ConfigMaps that are missing or differ; resolves when that is done, or its failure was logged. */
  publish(): Promise<void>;
  /** ConfigMaps that hold other roots than those that are trusted now. */
  readonly missing: Missing;
  /** Resolves when the namespaces have been listed and given their ConfigMap, or its failure was logged. */
  readonly synced: Promise<void>;
}

const MAX_AT_ONCE = 8;
const BACKOFF: Backoff = { first: milliseconds(500), longest: seconds(300) };

/** Publishes in every namespace, at once in new ones, and again where somebody changed or deleted it. */
export function followNamespaces(options: PublisherOptions): RootPublisher {
  const { store, kinds, only, leadership, logger, signal } = options;
  let isSynced = false;
  const queue = new WorkQueue({
    work: (namespace) => reconcile(namespace),
    workers: MAX_AT_ONCE,
    backoff: BACKOFF,
    random: options.random,
    sleep: options.sleep,
    onFailure: (namespace, error, retryIn) => {
      const fields = { namespace, reason: error.message, retryIn: formatDuration(retryIn) };
      // Another replica was first, or changed it meanwhile.
      const level = error.code === 'already_exists' || error.code === 'conflict' ? 'debug' : 'warn';
      logger[level]('root certificate cannot be published', fields);
    },
    signal,
  });
  const onChange = (namespace: string): void => {
    if (isSynced) queue.add(namespace);
  };
  const namespaces = only === undefined ? followNames(options, onChange) : onlyOne(only);
  /** What the ConfigMaps hold. */
  const published = followEach<{ readonly root: unknown }>({
    store,
    kind: kinds.configMap,
    watch: {
      signal,
      fieldSelector: `metadata.name=${ROOT_CONFIG_MAP}`,
      ...(only === undefined ? {} : { namespace: only }),
    },
    keyOf: ({ metadata }) => (metadata.name === ROOT_CONFIG_MAP ? (metadata.namespace ?? '') : `/${metadata.name}`),
    parse: (object) => (object.metadata.name === ROOT_CONFIG_MAP ? { root: publishedRoot(object) } : undefined),
    onChange,
    logger,
  });

  async function reconcile(namespace: string): Promise<void> {
    if (!namespaces.entries.has(namespace) || leadership.term() === undefined) return;
    const rootPem = options.rootPem();
    if (published.entries.get(namespace)?.root === rootPem) return;
    await publishTo(namespace, rootPem, options);
  }

  async function publish(): Promise<void> {
    for (const namespace of namespaces.entries.keys()) queue.add(namespace);
    await queue.idle();
  }

  const synced = Promise.all([namespaces.synced, published.synced]).then(() => {
    isSynced = true;
    leadership.onTerm(() => void publish());
    return publish();
  });
  synced.catch((error: unknown) => {
    if (!signal.aborted) logger.error('namespaces cannot be listed', { reason: MeshError.from(error).message });
  });
  return {
    publish,
    missing() {
      if (!isSynced) return ['ConfigMaps that are not listed yet'];
      const rootPem = options.rootPem();
      return [...published.entries]
        .filter(([namespace, { root }]) => namespaces.entries.has(namespace) && root !== rootPem)
        .map(([namespace]) => describeRef(refOf(kinds, namespace)));
    },
    synced,
  };
}

/** Those that are not about to go. */
function followNames({ store, kinds, signal, logger }: PublisherOptions, onChange: (name: string) => void): Followed<true> {
  return followEach<true>({
    store,
    kind: kinds.namespace,
    watch: { signal },
    keyOf: ({ metadata }) => metadata.name,
    parse: ({ metadata }) => (metadata.deletionTimestamp === undefined ? true : undefined),
    onChange,
    logger,
  });
}

function onlyOne(namespace: string): Followed<true> {
  return { entries: new Map([[namespace, true]]), synced: Promise.resolve() };
}

function refOf(kinds: Kinds, namespace: string): ObjectRef {
  return { kind: kinds.configMap, namespace, name: ROOT_CONFIG_MAP };
}

async function publishTo(namespace: string, rootPem: string, { store, kinds, logger }: PublisherOptions): Promise<void> {
  const before = await find(store, refOf(kinds, namespace));
  if (before !== undefined && publishedRoot(before) === rootPem) return;
  if (before === undefined) await store.create(configMap(kinds, namespace, rootPem));
  else await store.replace({ ...before, data: { ...recordOf(before['data']), [ROOT_KEY]: rootPem } });
  logger.info('root certificate published', { namespace });
}

async function find(store: ObjectStore, ref: ObjectRef): Promise<KubeObject | undefined> {
  try {
    return await store.get(ref);
  } catch (thrown) {
    const error = MeshError.from(thrown);
    if (error.code === 'not_found') return undefined;
    throw error;
  }
}

function configMap(kinds: Kinds, namespace: string, rootPem: string): KubeObject {
  const { apiVersion, kind } = kinds.configMap;
  return { apiVersion, kind, metadata: { name: ROOT_CONFIG_MAP, namespace }, data: { [ROOT_KEY]: rootPem } };
}

function publishedRoot(object: KubeObject): unknown {
  return recordOf(object['data'])[ROOT_KEY];
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
