/** Follows one kind of an API server for as long as anybody wants: list, watch, watch on, and list again where that is needed. */
import { ApiError } from '../../../io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../../io/kubernetes/client.ts';
import { type Backoff, jittered } from '../../../lib/backoff.ts';
import { type Duration, milliseconds, seconds } from '../../../lib/duration.ts';
import { MeshError } from '../../../lib/errors.ts';
import type { KubeObject, ResourceKind } from '../../../model/object.ts';
import { byNamespaceAndName } from '../object-index.ts';
import type { WatchQueue } from '../watch-queue.ts';
import { KnownObjects } from './known-objects.ts';
import { describeList, listPages } from './list-objects.ts';
import { collectionPath } from './resource-path.ts';
import { parseFrame } from './watch-frame.ts';

export interface FollowOptions {
  readonly client: KubernetesClient;
  readonly kind: ResourceKind;
  readonly namespace?: string;
  readonly fieldSelector?: string;
  /** How often everything is compared with a new list, although watches tell of every change; absent: never. */
  readonly resync?: Duration;
  /** What of an object is given to the consumer; absent: all of it. */
  readonly reduce?: (object: KubeObject) => KubeObject;
  /** Gets the first list, and changes from then on. */
  readonly queue: WatchQueue;
  /** Gets what keeps us from following right now, and `undefined` once we do. */
  readonly onState: (error: MeshError | undefined) => void;
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
  /** Milliseconds of a clock that never jumps. */
  readonly elapsed: () => number;
  /** In [0, 1). */
  readonly random: () => number;
  readonly signal: AbortSignal;
}

const BACKOFF: Backoff = { first: milliseconds(800), longest: seconds(30) };
/** The server is asked to end a watch after once to twice this long, so that load spreads over servers, and never all at once. */
const WATCH_LENGTH: Duration = seconds(300);
/** And gets this much longer before we do it. */
const WATCH_GRACE: Duration = seconds(30);

/** A kind that the server does not have is asked for again this soon: somebody is about to install it. */
const LONGEST_WITHOUT_KIND: Duration = seconds(5);
/** A watch that ended sooner, with nothing sent, was not meant to last. */
const SHORTEST_WATCH: Duration = seconds(1);
/** Of the resync interval: what is added to it at most. */
const RESYNC_SPREAD = 0.1;
/** Refusals in a row after which we begin anew with a list. */
const MAX_REFUSALS = 3;

/** Resolves when the signal is aborted; nothing else ends it. */
export async function followKubernetes(options: FollowOptions): Promise<void> {
  const { signal, sleep } = options;
  const loop = new FollowLoop(options);
  while (!signal.aborted) {
    try {
      await loop.round();
    } catch (thrown) {
      if (signal.aborted) return;
      await sleep(loop.failed(MeshError.from(thrown, 'unavailable')), signal).catch(() => {});
    }
  }
}

class FollowLoop {
  readonly #options: FollowOptions;
  readonly #known: KnownObjects;
  readonly #reduce: (object: KubeObject) => KubeObject;
  /** Where the next watch begins; `undefined`: with a list. */
  #version: string | undefined;
  /** Whether the consumer has been given a list. */
  #listed = false;
  /** When everything is compared with a new list. */
  #resyncAt = Number.POSITIVE_INFINITY;
  /** Since something came through a watch. */
  #failures = 0;

  constructor(options: FollowOptions) {
    this.#options = options;
    this.#known = new KnownObjects(options.kind, options.queue);
    this.#reduce = options.reduce ?? ((object) => object);
  }

  /** One list if needed, and one watch to its end. Rejects with what needs a wait before the next round. */
  async round(): Promise<void> {
    this.#version ??= await this.#list();
    const { resync, signal, sleep } = this.#options;
    if (resync === undefined) return this.#watch(this.#version, signal);
    const watching = new AbortController();
    const left = milliseconds(Math.max(0, this.#resyncAt - this.#options.elapsed()));
    const due = sleep(left, AbortSignal.any([signal, watching.signal])).then(
      () => true,
      () => false,
    );
    const cut = due.then((isDue) => isDue && watching.abort());
    try {
      await this.#watch(this.#version, AbortSignal.any([signal, watching.signal]));
    } catch (error) {
      if (!watching.signal.aborted) throw error;
      this.#version = undefined;
    } finally {
      watching.abort();
      await cut;
    }
  }

  /** Takes what comes until the server ends the watch. */
  async #watch(version: string, signal: AbortSignal): Promise<void> {
    const { elapsed, onState } = this.#options;
    const frames = await this.#openWatch(version, signal);
    onState(undefined);
    const opened = elapsed();
    let taken = 0;
    for await (const frame of frames) {
      this.#take(frame);
      taken += 1;
    }
    if (taken > 0 || signal.aborted || elapsed() - opened >= SHORTEST_WATCH) return;
    throw new MeshError('unavailable', `cannot ${this.#what('watch')}: the API server ended the watch at once`);
  }

  /** Decides how to go on after a failure; gives the wait before. */
  failed(error: MeshError): Duration {
    const { onState, random } = this.#options;
    this.#failures += 1;
    const refusal = error instanceof ApiError ? error : undefined;
    const beginAnew = refusal?.isExpired === true || error.code === 'invalid';
    if (beginAnew || (refusal !== undefined && this.#failures >= MAX_REFUSALS)) this.#version = undefined;
    // To have missed too much is part of the protocol.
    if (refusal?.isExpired !== true) onState(error);
    const isUnknownKind = refusal?.status === 404;
    if (isUnknownKind && !this.#listed) {
      // No kind, no objects. Later on it is more likely that something is wrong, and what is known stays.
      this.#known.list([]);
      this.#listed = true;
    }
    const longest = isUnknownKind ? LONGEST_WITHOUT_KIND : BACKOFF.longest;
    const wait = jittered({ ...BACKOFF, longest }, this.#failures, random);
    const asked = seconds(refusal?.retryAfter ?? 0);
    return milliseconds(Math.max(wait, Math.min(asked, BACKOFF.longest)));
  }

  /** The first list is told whole, and of each later one what differs. */
  async #list(): Promise<string> {
    const { resync, elapsed, random } = this.#options;
    const resourceVersion = this.#listed ? await this.#compareList() : await this.#firstList();
    // Not all kinds at once.
    if (resync !== undefined) this.#resyncAt = elapsed() + resync * (1 + RESYNC_SPREAD * random());
    return resourceVersion;
  }

  async #firstList(): Promise<string> {
    let objects: KubeObject[] = [];
    const resourceVersion = await this.#listPages(() => {
      objects = [];
      return (object) => objects.push(this.#reduce(object));
    });
    this.#known.list(objects.sort(byNamespaceAndName));
    this.#listed = true;
    return resourceVersion;
  }

  async #compareList(): Promise<string> {
    let comparison = this.#known.compare();
    const resourceVersion = await this.#listPages(() => {
      comparison = this.#known.compare();
      return (object) => comparison.see(object, this.#reduce);
    });
    comparison.end();
    return resourceVersion;
  }

  #listPages(begin: () => (object: KubeObject) => void): Promise<string> {
    const { client, kind, signal } = this.#options;
    return listPages(client, kind, { ...this.#scope, signal }, begin);
  }

  #openWatch(version: string, signal: AbortSignal): Promise<AsyncIterable<unknown>> {
    const { client, kind, namespace, fieldSelector, random } = this.#options;
    const length = milliseconds(WATCH_LENGTH * (1 + random()));
    return client.watch({
      path: collectionPath(kind, namespace),
      query: {
        watch: 'true',
        allowWatchBookmarks: 'true',
        resourceVersion: version,
        timeoutSeconds: String(Math.round(length / 1000)),
        ...(fieldSelector === undefined ? {} : { fieldSelector }),
      },
      what: this.#what('watch'),
      deadline: milliseconds(length + WATCH_GRACE),
      signal,
    });
  }

  #take(value: unknown): void {
    const { client, kind } = this.#options;
    const frame = parseFrame(kind, value, { what: this.#what('watch'), server: client.server });
    if (frame.type === 'error') throw frame.error;
    if (frame.type !== 'bookmark') this.#known.change(frame.type, this.#reduce(frame.object));
    this.#version = frame.resourceVersion;
    this.#failures = 0;
  }

  #what(verb: 'list' | 'watch'): string {
    return describeList(verb, this.#options.kind, this.#options.namespace);
  }

  get #scope(): { readonly namespace?: string; readonly fieldSelector?: string } {
    const { namespace, fieldSelector } = this.#options;
    return { ...(namespace === undefined ? {} : { namespace }), ...(fieldSelector === undefined ? {} : { fieldSelector }) };
  }
}
