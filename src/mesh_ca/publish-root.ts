/** Gives every namespace the roots that its workloads trust: ConfigMap `mesh-ca-root-cert`, key `root-cert.pem`. */

import type { Logger } from '../io/log/logger.ts';
import { MeshError } from '../lib/errors.ts';
import type { Kinds } from '../model/kinds.ts';
import type { KubeObject, ObjectRef } from '../model/object.ts';
import { followKind } from '../sources/collection.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';

export const ROOT_CONFIG_MAP = 'mesh-ca-root-cert';
export const ROOT_KEY = 'root-cert.pem';

export interface PublisherOptions {
  readonly store: ObjectStore;
  readonly kinds: Kinds;
  /** What is to be published now. */
  readonly rootPem: () => string;
  /** These and no others; undefined: every namespace that there is. */
  readonly only: readonly string[] | undefined;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface RootPublisher {
  /** Writes the ConfigMaps that are missing or differ, in every namespace known now. */
  publish(): Promise<void>;
  /** Resolves when the namespaces have been listed and given their ConfigMap, or its failure was logged. */
  readonly synced: Promise<void>;
}

const MAX_AT_ONCE = 8;

/** Publishes at once and with every new namespace; call `publish` from time to time to undo what others changed. */
export function followNamespaces(options: PublisherOptions): RootPublisher {
  const { logger, signal } = options;
  const namespaces = followKind<string>({
    ...options,
    kind: options.kinds.namespace,
    parse: (object) => ({ ok: true, value: object.metadata.deletionTimestamp === undefined ? object.metadata.name : '' }),
    onChange: () => void publish(),
  });
  let running: Promise<void> | undefined;
  let again = false;

  async function pass(): Promise<void> {
    do {
      again = false;
      const pending = [...(options.only ?? namespaces.values().filter((name) => name !== ''))];
      const worker = async (): Promise<void> => {
        for (let name = pending.shift(); name !== undefined && !signal.aborted; name = pending.shift())
          await publishTo(name, options);
      };
      await Promise.all(Array.from({ length: MAX_AT_ONCE }, worker));
    } while (again && !signal.aborted);
  }

  /** One pass at a time; what comes meanwhile makes it go round once more. */
  function publish(): Promise<void> {
    again = running !== undefined;
    running ??= pass().finally(() => {
      running = undefined;
    });
    return running;
  }

  const synced = namespaces.synced.then(publish);
  synced.catch((error: unknown) => {
    if (!signal.aborted) logger.error('namespaces cannot be listed', { reason: MeshError.from(error).message });
  });
  return { publish, synced };
}

async function publishTo(namespace: string, options: PublisherOptions): Promise<void> {
  const { store, kinds, logger } = options;
  const rootPem = options.rootPem();
  const ref: ObjectRef = { kind: kinds.configMap, namespace, name: ROOT_CONFIG_MAP };
  try {
    const before = await find(store, ref);
    if (before !== undefined && publishedRoot(before) === rootPem) return;
    if (before === undefined) await store.create(configMap(kinds, namespace, rootPem));
    else await store.replace({ ...before, data: { ...recordOf(before['data']), [ROOT_KEY]: rootPem } });
    logger.info('root certificate published', { namespace });
  } catch (thrown) {
    const error = MeshError.from(thrown);
    // Another replica was first, or changed it meanwhile; the next pass looks again.
    const level = error.code === 'already_exists' || error.code === 'conflict' ? 'debug' : 'warn';
    logger[level]('root certificate cannot be published', { namespace, reason: error.message });
  }
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
