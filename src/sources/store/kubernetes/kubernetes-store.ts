import { isDeepStrictEqual } from 'node:util';
import { ApiError } from '../../../io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../../io/kubernetes/client.ts';
import type { Duration } from '../../../lib/duration.ts';
import { MeshError, type Problem } from '../../../lib/errors.ts';
import type { Kinds } from '../../../model/kinds.ts';
import { describeRef, type KubeObject, type ObjectRef, type ResourceKind } from '../../../model/object.ts';
import type { KindedObject } from '../../../model/parse/object.ts';
import type { ObjectStore, WatchEvent, WatchOptions } from '../object-store.ts';
import { admit, refOf, type ValidateObject } from '../stored-object.ts';
import { WatchQueue } from '../watch-queue.ts';
import { listObjects } from './list-objects.ts';
import { asFields, LAST_APPLIED, receiveObject, resourceVersionOf } from './received.ts';
import { collectionPath, objectPath, resourceName } from './resource-path.ts';
import { followKubernetes } from './watch-loop.ts';

export interface KubernetesStoreOptions {
  /** Closed with the store. */
  readonly client: KubernetesClient;
  readonly kinds: Kinds;
  /** What is wrong with an object beyond what all kinds have in common: such an object is not sent. */
  readonly validate?: ValidateObject;
  /** How often a watch lists everything anew; absent: only where it has missed something. */
  readonly resync?: Duration;
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
  /** Milliseconds of a clock that never jumps. */
  readonly elapsed: () => number;
  /** In [0, 1). */
  readonly random: () => number;
  /** Gets everything that keeps the store from following its kinds, whenever that changes. */
  readonly onProblem?: (problems: readonly Problem[]) => void;
}

/** Whoever changes the object between our reading and writing it; then we read again. */
const MAX_ATTEMPTS = 8;
/** Who wrote a field, as the API server keeps book of it. */
const FIELD_MANAGER = { fieldManager: 'mesh' };
/** What people wrote with a field that the kind does not have is refused, as by kubectl, not dropped in silence. */
const DOCUMENT = { ...FIELD_MANAGER, fieldValidation: 'Strict' };

/** Objects on a Kubernetes API server. Nothing is kept here but what watchers have not taken yet. */
export class KubernetesStore implements ObjectStore {
  readonly #options: KubernetesStoreOptions;
  readonly #closing = new AbortController();
  readonly #troubles = new Map<symbol, Problem>();

  constructor(options: KubernetesStoreOptions) {
    this.#options = options;
  }

  async list(kind: ResourceKind, namespace?: string): Promise<readonly KubeObject[]> {
    const { signal } = this.#closing;
    const { objects } = await listObjects(this.client, kind, namespace === undefined ? { signal } : { signal, namespace });
    return objects;
  }

  async get(ref: ObjectRef): Promise<KubeObject> {
    return receiveObject(ref.kind, await this.#getRaw(ref));
  }

  async create(object: KubeObject): Promise<KubeObject> {
    const admitted = this.#admit(object);
    const { kind } = admitted;
    const { resourceVersion: _, uid: __, creationTimestamp: ___, ...metadata } = admitted.object.metadata;
    const answer = await this.client.request({
      method: 'POST',
      path: collectionPath(kind, metadata.namespace),
      query: DOCUMENT,
      what: `create ${describe(admitted)}`,
      body: { ...admitted.object, metadata },
      signal: this.#closing.signal,
    });
    return receiveObject(kind, answer);
  }

  async replace(object: KubeObject): Promise<KubeObject> {
    const admitted = this.#admit(object);
    const ref = refOf(admitted);
    const expected = admitted.object.metadata.resourceVersion ?? '';
    for (let attempt = 1; ; attempt += 1) {
      const stored = await this.#getRaw(ref);
      if (expected !== '' && expected !== resourceVersionOf(stored)) throw conflict(ref);
      try {
        return receiveObject(ref.kind, await this.#write(admitted, stored));
      } catch (error) {
        if (!(error instanceof ApiError && error.code === 'conflict')) throw error;
        if (expected !== '' || attempt >= MAX_ATTEMPTS) throw conflict(ref, error);
      }
    }
  }

  async delete(ref: ObjectRef): Promise<void> {
    await this.client.request({
      method: 'DELETE',
      path: objectPath(ref),
      query: { propagationPolicy: 'Background' },
      what: `delete ${describeRef(ref)}`,
      signal: this.#closing.signal,
    });
  }

  async *watch(kind: ResourceKind, options: WatchOptions): AsyncGenerator<WatchEvent, void, undefined> {
    const { sleep, elapsed, random, resync } = this.#options;
    const watching = new AbortController();
    const signal = AbortSignal.any([options.signal, this.#closing.signal, watching.signal]);
    if (signal.aborted) return;
    const queue = new WatchQueue();
    const id = Symbol(kind.plural);
    const onState = (error: MeshError | undefined): void => this.#report(id, kind, error);
    const { signal: _, ...scope } = options;
    signal.addEventListener('abort', () => queue.end(), { once: true });
    const deps = { client: this.client, queue, onState, sleep, elapsed, random, signal };
    const following = followKubernetes({ ...deps, kind, ...scope, ...(resync === undefined ? {} : { resync }) });
    try {
      yield* queue.drain();
    } finally {
      watching.abort();
      await following;
      // Nobody follows it any more, which is no news of the API server.
      this.#troubles.delete(id);
    }
  }

  /** What keeps the store from following its kinds right now. */
  problems(): readonly Problem[] {
    const problems = [...this.#troubles.values()];
    return problems.filter((problem, index) => problems.findIndex((other) => other.message === problem.message) === index);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.client.close();
  }

  get client(): KubernetesClient {
    return this.#options.client;
  }

  #admit(object: KubeObject): KindedObject {
    return admit(object, this.#options.kinds, this.#options.validate);
  }

  #getRaw(ref: ObjectRef): Promise<unknown> {
    return this.client.request({
      method: 'GET',
      path: objectPath(ref),
      what: `get ${describeRef(ref)}`,
      signal: this.#closing.signal,
    });
  }

  /** Writes what differs, and nothing where nothing does; gives what is stored then. */
  async #write(admitted: KindedObject, stored: unknown): Promise<unknown> {
    switch (differenceOf(admitted, stored)) {
      case 'nothing':
        return stored;
      case 'status':
        return this.#putStatus(admitted, stored);
      case 'more': {
        const written = await this.#put(admitted, stored, '');
        const isStatusMeant = (admitted.object.metadata.resourceVersion ?? '') !== '';
        return isStatusMeant && changesStatus(admitted.object, stored, written)
          ? this.#put(admitted, written, '/status')
          : written;
      }
    }
  }

  /** A right to write the status alone suffices, except for kinds whose status is a field like others. */
  async #putStatus(admitted: KindedObject, stored: unknown): Promise<unknown> {
    try {
      return await this.#put(admitted, stored, '/status');
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'not_found')) throw error;
      return this.#put(admitted, stored, '');
    }
  }

  /** Writes over the version that was read, with the parts of it that were dropped at the door and that nobody means to remove. */
  #put({ kind, object }: KindedObject, stored: unknown, subresource: '' | '/status'): Promise<unknown> {
    const { uid: _, creationTimestamp: __, managedFields: ___, ...metadata } = asFields(object.metadata);
    const resourceVersion = resourceVersionOf(stored);
    const lastApplied = asFields(asFields(asFields(stored).metadata).annotations)[LAST_APPLIED];
    const kept =
      lastApplied === undefined ? {} : { annotations: { [LAST_APPLIED]: lastApplied, ...object.metadata.annotations } };
    const ref = refOf({ kind, object });
    return this.client.request({
      method: 'PUT',
      path: `${objectPath(ref)}${subresource}`,
      query: subresource === '' ? DOCUMENT : FIELD_MANAGER,
      what: `replace ${subresource === '' ? '' : 'the status of '}${describeRef(ref)}`,
      body: { ...object, metadata: { ...metadata, ...kept, resourceVersion } },
      signal: this.#closing.signal,
    });
  }

  #report(id: symbol, kind: ResourceKind, error: MeshError | undefined): void {
    const before = this.#troubles.get(id)?.message;
    if (before === error?.message) return;
    if (error === undefined) this.#troubles.delete(id);
    else this.#troubles.set(id, { path: resourceName(kind), message: error.message });
    this.#options.onProblem?.(this.problems());
  }
}

/** In what an object differs from the stored one. A status means something only beside the version that it was read with. */
function differenceOf({ kind, object }: KindedObject, stored: unknown): 'nothing' | 'status' | 'more' {
  const before = receiveObject(kind, stored);
  if (!isDeepStrictEqual(mainOf(object, before), mainOf(before, before))) return 'more';
  const isStatusMeant = (object.metadata.resourceVersion ?? '') !== '' && object.status !== undefined;
  return isStatusMeant && !isDeepStrictEqual(object.status, before.status) ? 'status' : 'nothing';
}

/** All but the status and what the server alone decides. */
function mainOf({ status: _, ...object }: KubeObject, { metadata: stored }: KubeObject): object {
  const { uid, resourceVersion, creationTimestamp } = stored;
  return { ...object, metadata: { ...object.metadata, uid, resourceVersion, creationTimestamp } };
}

/**
 * Whether a status was meant to change, but was not: kinds whose status is a subresource take it there alone. Only of an object that was
 * read as it is stored; a status that somebody wrote down long ago is not meant.
 */
function changesStatus(object: KubeObject, stored: unknown, written: unknown): boolean {
  const { status } = object;
  if (status === undefined || isDeepStrictEqual(status, asFields(stored).status)) return false;
  return !isDeepStrictEqual(status, asFields(written).status);
}

function describe(admitted: KindedObject): string {
  return describeRef(refOf(admitted));
}

function conflict(ref: ObjectRef, cause?: unknown): MeshError {
  const message = `${describeRef(ref)} was changed by somebody else; read it again and repeat the change on that`;
  return new MeshError('conflict', message, cause);
}
