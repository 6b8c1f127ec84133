/** Keeps a Secret with key and certificate for every service account: made, renewed, mended, and gone with the account. */
import type { Logger } from '../io/log/logger.ts';
import type { KeyType } from '../io/x509/key.ts';
import type { Backoff } from '../lib/backoff.ts';
import { type Duration, formatDuration, milliseconds, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { isSpiffeId, type SpiffeId } from '../lib/spiffe.ts';
import type { Kinds } from '../model/kinds.ts';
import { describeRef, type KubeObject, type ObjectRef } from '../model/object.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import { issueIdentity } from './account-certificate.ts';
import {
  type AccountRef,
  accountNameOf,
  assess,
  readIdentity,
  type StoredIdentity,
  secretNameOf,
  secretRefreshed,
  secretWith,
  type Verdict,
} from './account-secret.ts';
import { rootPem } from './authority.ts';
import type { DnsNames } from './follow-dns-names.ts';
import { followEach } from './follow-each.ts';
import type { Leadership } from './leadership.ts';
import type { LiveAuthority } from './live-authority.ts';
import type { GracePeriod } from './rotation.ts';
import type { SigningLimits } from './signing-policy.ts';
import type { Missing } from './spread.ts';
import { WorkQueue } from './work-queue.ts';

export interface SecretsOptions {
  readonly store: ObjectStore;
  readonly kinds: Kinds;
  /** Of the Secrets; others of their names are left alone. */
  readonly type: string;
  /** Undefined: every namespace. */
  readonly namespace: string | undefined;
  readonly authority: LiveAuthority;
  readonly leadership: Pick<Leadership, 'term' | 'onTerm'>;
  readonly trustDomain: () => string;
  /** DNS names that accounts' certificates have beside their identity. */
  readonly dnsNames: DnsNames;
  readonly keyType: KeyType;
  readonly limits: Pick<SigningLimits, 'defaultTtl' | 'organization'>;
  readonly grace: GracePeriod;
  readonly now: () => Date;
  readonly newSerial: () => Uint8Array;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Rejects when the signal is aborted. */
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface SecretKeeper {
  /** Looks at every account's Secret and mends what is not as it should be; resolves when all have been looked at. */
  check(): Promise<void>;
  /** Looks at those of one namespace whose DNS names may have changed. */
  recheck(namespace: string): void;
  /** Secrets that hold other roots than those that are trusted now. */
  readonly missing: Missing;
  /** Resolves when accounts and Secrets have been listed. */
  readonly synced: Promise<void>;
}

/** Keys take most of the time, on threads of their own; more of them at once would only leave less for callers. */
const WORKERS = 4;
const BACKOFF: Backoff = { first: milliseconds(500), longest: seconds(300) };

export function keepSecrets(options: SecretsOptions): SecretKeeper {
  return new Keeper(options);
}

/** A Secret that was found good, and under what circumstances. */
interface Good {
  readonly rootPem: string;
  readonly circumstances: string;
  readonly until: Date;
}

class Keeper implements SecretKeeper {
  readonly synced: Promise<void>;
  readonly #options: SecretsOptions;
  readonly #queue: WorkQueue;
  readonly #accounts: ReadonlyMap<string, AccountRef>;
  readonly #secrets: ReadonlyMap<string, StoredIdentity>;
  /** Looking at certificates costs more than remembering what was seen. */
  readonly #good = new WeakMap<StoredIdentity, Good>();
  #isSynced = false;

  constructor(options: SecretsOptions) {
    this.#options = options;
    const { store, kinds, namespace, type, logger, signal, random, sleep, leadership } = options;
    this.#queue = new WorkQueue({
      work: (key) => this.#reconcile(key),
      workers: WORKERS,
      backoff: BACKOFF,
      random,
      sleep,
      onFailure: (key, error, retryIn) => this.#logFailure(key, error, retryIn),
      signal,
    });
    const onChange = (key: string): void => {
      if (this.#isSynced) this.#queue.add(key);
    };
    const watch = { signal, ...(namespace === undefined ? {} : { namespace }) };
    const accounts = followEach({
      store,
      kind: kinds.serviceAccount,
      watch,
      keyOf: ({ metadata }) => keyOf(metadata.namespace, metadata.name),
      parse: readAccount,
      onChange,
      logger,
    });
    const secrets = followEach({
      store,
      kind: kinds.secret,
      watch: { ...watch, fieldSelector: `type=${type}` },
      keyOf: ({ metadata }) => keyOf(metadata.namespace, accountNameOf(metadata.name) ?? `/${metadata.name}`),
      parse: (secret) =>
        secret['type'] === type && accountNameOf(secret.metadata.name) !== undefined ? readIdentity(secret) : undefined,
      onChange,
      logger,
    });
    this.#accounts = accounts.entries;
    this.#secrets = secrets.entries;
    this.synced = Promise.all([accounts.synced, secrets.synced, options.dnsNames.synced]).then(() => {
      this.#isSynced = true;
      leadership.onTerm(() => void this.check());
    });
    this.synced.catch((thrown: unknown) => {
      if (!signal.aborted) logger.error('service accounts cannot be listed', { reason: MeshError.from(thrown).message });
    });
  }

  async check(): Promise<void> {
    if (!this.#isSynced) return;
    for (const key of this.#accounts.keys()) this.#queue.add(key);
    await this.#queue.idle();
  }

  recheck(namespace: string): void {
    if (!this.#isSynced) return;
    for (const [key, account] of this.#accounts) if (account.namespace === namespace) this.#queue.add(key);
  }

  missing(): readonly string[] {
    if (!this.#isSynced) return ['Secrets of service accounts, which are not listed yet'];
    const trusted = rootPem(this.#options.authority.current());
    return [...this.#secrets]
      .filter(([key, stored]) => stored.rootPem !== trusted && this.#accounts.has(key))
      .map(([key]) => `Secret ${key.replace('/', `/${secretNameOf('')}`)}`);
  }

  async #reconcile(key: string): Promise<void> {
    const account = this.#accounts.get(key);
    if (account === undefined || this.#options.leadership.term() === undefined) return;
    const identity = { trustDomain: this.#options.trustDomain(), namespace: account.namespace, serviceAccount: account.name };
    // A name that no certificate can hold; nobody gets a part of it.
    if (!isSpiffeId(identity)) return;
    const stored = this.#secrets.get(key);
    if (stored !== undefined && this.#verdict(stored, account, identity).type === 'good') return;
    await this.#mend(account, identity);
  }

  /** What the watch showed may be old, so the Secret is read again; what is written follows on just that. */
  async #mend(account: AccountRef, identity: SpiffeId): Promise<void> {
    const { store, kinds, type } = this.#options;
    const ref: ObjectRef = { kind: kinds.secret, namespace: account.namespace, name: secretNameOf(account.name) };
    const before = await find(store, ref);
    if (before === undefined) return this.#write(account, identity, undefined, 'there is none');
    if (before['type'] !== type) {
      throw new MeshError('failed_precondition', `${describeRef(ref)} is of another type than ${type}: remove or rename it`);
    }
    const verdict = this.#verdict(readIdentity(before), account, identity);
    switch (verdict.type) {
      case 'good':
        return;
      case 'refresh':
        return this.#refresh(account, before, verdict.reason);
      case 'reissue':
        return this.#write(account, identity, before, verdict.reason);
    }
  }

  async #refresh(account: AccountRef, before: KubeObject, reason: string): Promise<void> {
    const { store, kinds, authority, logger, leadership } = this.#options;
    if (leadership.term() === undefined) return;
    await store.replace(secretRefreshed(kinds, account, before, rootPem(authority.current())));
    logger.info('secret of a service account brought up to date', { ...nameOf(account), reason });
  }

  async #write(account: AccountRef, identity: SpiffeId, before: KubeObject | undefined, reason: string): Promise<void> {
    const { store, kinds, type, authority, keyType, limits, now, newSerial, leadership, logger } = this.#options;
    const request = { identity, dnsNames: this.#options.dnsNames.namesOf(account), keyType, limits };
    const issued = await issueIdentity(() => authority.current(), request, now, newSerial());
    // The term may have ended while the key was made.
    if (leadership.term() === undefined) return;
    const secret = secretWith(kinds, type, account, issued, rootPem(authority.current()), before);
    await (before === undefined ? store.create(secret) : store.replace(secret));
    const fields = { serial: issued.serial, expires: issued.notAfter.toISOString(), reason };
    logger.info('secret of a service account issued', { ...nameOf(account), ...fields });
  }

  #verdict(stored: StoredIdentity, account: AccountRef, identity: SpiffeId): Verdict {
    const { authority, grace, now } = this.#options;
    const { roots, pems, validity } = authority.current();
    const dnsNames = this.#options.dnsNames.namesOf(account);
    const circumstances = [identity.trustDomain, account.uid, ...dnsNames].join(' ');
    const good = this.#good.get(stored);
    if (good !== undefined && good.rootPem === pems.roots && good.circumstances === circumstances && now() < good.until) {
      return { type: 'good', until: good.until };
    }
    const expected = {
      identity,
      ownerUid: account.uid,
      dnsNames,
      rootPem: pems.roots,
      roots,
      grace,
      now: now(),
      latestEnd: validity.notAfter,
    };
    const verdict = assess(stored, expected);
    if (verdict.type === 'good') this.#good.set(stored, { rootPem: pems.roots, circumstances, until: verdict.until });
    return verdict;
  }

  #logFailure(key: string, error: MeshError, retryIn: Duration): void {
    const fields = { account: key, reason: error.message, retryIn: formatDuration(retryIn) };
    // Somebody else was there first; the next look shows what there is now.
    const level = error.code === 'already_exists' || error.code === 'conflict' ? 'debug' : 'warn';
    this.#options.logger[level]('the secret of a service account cannot be kept', fields);
  }
}

function keyOf(namespace: string | undefined, account: string): string {
  return `${namespace ?? ''}/${account}`;
}

/** Undefined for one that is about to go. */
function readAccount({ metadata }: KubeObject): AccountRef | undefined {
  const { namespace, name, uid, deletionTimestamp } = metadata;
  return namespace === undefined || uid === undefined || deletionTimestamp !== undefined ? undefined : { namespace, name, uid };
}

function nameOf({ namespace, name }: AccountRef): { readonly namespace: string; readonly account: string } {
  return { namespace, account: name };
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
