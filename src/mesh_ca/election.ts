/** Elects one of several replicas through a Lease, as Kubernetes' own controllers do (client-go, tools/leaderelection). */
import type { Logger } from '../io/log/logger.ts';
import { type Duration, milliseconds, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import type { Kinds } from '../model/kinds.ts';
import { describeRef, type KubeObject, type ObjectRef } from '../model/object.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import type { Leadership } from './leadership.ts';
import { claimedLease, readLease } from './lease.ts';

export interface ElectionOptions {
  readonly store: Pick<ObjectStore, 'get' | 'create' | 'replace'>;
  readonly kinds: Kinds;
  readonly namespace: string;
  /** Of the Lease. */
  readonly name: string;
  /** Of this replica, and of no other, not even of the same one after a restart. */
  readonly identity: string;
  readonly now: () => Date;
  /** Of a clock that never jumps. */
  readonly uptime: () => Duration;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Rejects when the signal is aborted. */
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Others take the Lease over when it was not renewed for this long. */
const LEASE: Duration = seconds(15);
/** A leader that could not renew it for this long stops to be one: well before another can begin. */
const TERM: Duration = seconds(10);
const RETRY_MS = 2_000;
/** An API server that is away must not hold up a shutdown. */
const LONGEST_RESIGNATION: Duration = seconds(5);

interface Term {
  readonly ending: AbortController;
  /** By the clock that never jumps. */
  until: Duration;
}

/** Takes part in the election until the signal is aborted or it resigns. */
export function joinElection(options: ElectionOptions): Leadership {
  return new Election(options);
}

class Election implements Leadership {
  readonly #options: ElectionOptions;
  readonly #leaving = new AbortController();
  readonly #signal: AbortSignal;
  readonly #ended: Promise<void>;
  readonly #listeners: (() => void)[] = [];
  #term: Term | undefined;
  /** The Lease as this replica wrote it last. */
  #own: KubeObject | undefined;
  /** A Lease of another replica, and since when it has been as it is. */
  #observed: { readonly version: string | undefined; readonly since: Duration } | undefined;
  #lastFailure: string | undefined;

  constructor(options: ElectionOptions) {
    this.#options = options;
    this.#signal = AbortSignal.any([options.signal, this.#leaving.signal]);
    this.#signal.addEventListener('abort', () => this.#end('shutting down'), { once: true });
    this.#ended = this.#run();
  }

  term(): AbortSignal | undefined {
    const term = this.#term;
    if (term === undefined) return undefined;
    // A process that was stopped for a while wakes up before its timers.
    if (this.#options.uptime() >= term.until) this.#end('the lease could not be renewed in time');
    return this.#term?.ending.signal;
  }

  onTerm(begun: () => void): void {
    this.#listeners.push(begun);
    if (this.term() !== undefined) begun();
  }

  async resign(): Promise<void> {
    const waiting = new AbortController();
    this.#leaving.abort();
    await Promise.race([this.#ended, this.#options.sleep(LONGEST_RESIGNATION, waiting.signal)]);
    waiting.abort();
  }

  async #run(): Promise<void> {
    const { sleep, random } = this.#options;
    while (!this.#signal.aborted) {
      await this.#round();
      await sleep(milliseconds(RETRY_MS * (0.8 + 0.4 * random())), this.#signal).catch(() => {});
    }
    await this.#release();
  }

  async #round(): Promise<void> {
    const { logger, uptime } = this.#options;
    const began = uptime();
    try {
      const isHeld = await this.#claim(began);
      this.#lastFailure = undefined;
      if (this.#signal.aborted) return;
      if (isHeld) this.#extend(milliseconds(began + TERM));
      else this.#end('another replica holds the lease');
    } catch (thrown) {
      const { message } = MeshError.from(thrown);
      if (message !== this.#lastFailure && !this.#signal.aborted) {
        logger.warn('the lease that makes a leader cannot be had', { lease: describeRef(this.#ref), reason: message });
      }
      this.#lastFailure = message;
      this.#own = undefined;
    }
  }

  /** Whether the Lease is this replica's from `began` on. */
  async #claim(began: Duration): Promise<boolean> {
    const { store, kinds, identity, now } = this.#options;
    const isKnown = this.#own !== undefined;
    const before = this.#own ?? (await this.#read());
    if (before !== undefined && this.#isOfAnother(before, began)) return false;
    const claimed = claimedLease(kinds, this.#name, before, { holder: identity, duration: LEASE, now: now() });
    try {
      this.#own = await (before === undefined ? store.create(claimed) : store.replace(claimed));
      return true;
    } catch (thrown) {
      this.#own = undefined;
      const { code } = MeshError.from(thrown);
      if (code !== 'conflict' && code !== 'already_exists' && code !== 'not_found') throw thrown;
      // Somebody touched it, which takes nothing away: another look tells whose it is.
      return isKnown ? this.#claim(began) : false;
    }
  }

  /** Measured by our own clock alone: those of replicas may differ. */
  #isOfAnother(lease: KubeObject, now: Duration): boolean {
    const { holder, duration } = readLease(lease);
    if (holder === '' || holder === this.#options.identity) return false;
    const version = lease.metadata.resourceVersion;
    if (this.#observed === undefined || this.#observed.version !== version) this.#observed = { version, since: now };
    return now - this.#observed.since < duration;
  }

  async #read(): Promise<KubeObject | undefined> {
    try {
      return await this.#options.store.get(this.#ref);
    } catch (thrown) {
      if (MeshError.from(thrown).code === 'not_found') return undefined;
      throw thrown;
    }
  }

  #extend(until: Duration): void {
    const { sleep, uptime, logger, identity } = this.#options;
    if (uptime() >= until) return;
    const isNew = this.#term === undefined;
    const term = this.#term ?? { ending: new AbortController(), until };
    term.until = until;
    this.#term = term;
    sleep(milliseconds(until - uptime()), term.ending.signal).then(
      () => this.term(),
      () => {},
    );
    if (!isNew) return;
    logger.info('this replica leads: it keeps root, secrets and ConfigMaps', { identity });
    for (const listener of this.#listeners) listener();
  }

  #end(reason: string): void {
    const term = this.#term;
    if (term === undefined) return;
    this.#term = undefined;
    term.ending.abort();
    this.#options.logger.warn('this replica leads no longer: it writes nothing any more', { reason });
  }

  async #release(): Promise<void> {
    const { store, kinds, now } = this.#options;
    const own = this.#own;
    if (own === undefined) return;
    const claim = { holder: '', duration: seconds(1), now: now() };
    // Whoever waits finds out by itself after a while.
    await store.replace(claimedLease(kinds, this.#name, own, claim)).catch(() => {});
  }

  get #name(): { readonly namespace: string; readonly name: string } {
    const { namespace, name } = this.#options;
    return { namespace, name };
  }

  get #ref(): ObjectRef {
    return { kind: this.#options.kinds.lease, ...this.#name };
  }
}
