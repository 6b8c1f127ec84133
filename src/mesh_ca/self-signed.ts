/** The self-signed root: kept in a Secret, made once, and never replaced while it is valid. */
import type { Logger } from '../io/log/logger.ts';
import { type Duration, milliseconds, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import type { Leadership } from './leadership.ts';
import { AuthorityHolder } from './live-authority.ts';
import type { PemSecret, StoredPems } from './pem-secret.ts';
import {
  entriesOf,
  makeRoot,
  type RootMaterial,
  type RootPems,
  type RootSpec,
  requireAuthority,
  requireCertificate,
  requireMaterial,
  trustedCerts,
} from './root-material.ts';
import { rotationStep } from './root-rotation.ts';
import type { GracePeriod } from './rotation.ts';
import type { Missing } from './spread.ts';

export interface SelfSignedOptions {
  readonly spec: RootSpec;
  readonly grace: GracePeriod;
  readonly secret: PemSecret;
  /** Only a leader makes or exchanges roots; the others take what it stores. */
  readonly leadership: Pick<Leadership, 'term'>;
  /** Who has not been given the roots that are trusted now. */
  readonly missing: Missing;
  readonly now: () => Date;
  /** Milliseconds of a clock that never jumps. */
  readonly uptime: () => Duration;
  /** 16 random bytes. */
  readonly newSerial: () => Uint8Array;
  /** Rejects when the signal is aborted. */
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Between looks for a root that the leader makes. */
const LOOK: Duration = seconds(1);
/** Replicas that start together meet at most once or twice. */
const MAX_ATTEMPTS = 5;
const MAX_NAMED = 10;

export interface SelfSigned {
  readonly authority: AuthorityHolder;
  /** Takes what other replicas changed, and does the next step of a rotation; call it from time to time. A failure is logged. */
  keepUp(): Promise<void>;
}

/**
 * The authority of the Secret; where there is none, or it has expired, a new root is made and stored first. Of several replicas one
 * stores its root and the others take it; who does not lead waits for that. Rejects when the store cannot be read or written, the Secret
 * is damaged (a second root would part the mesh), or the signal is aborted.
 */
export async function openSelfSigned(options: SelfSignedOptions): Promise<SelfSigned> {
  const { secret, logger, leadership, sleep, signal } = options;
  let isWaiting = false;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; ) {
    const stored = await secret.read();
    const material = stored === undefined ? undefined : requireUndamaged(stored, options);
    if (material !== undefined && !isExpired(material.current, options)) {
      logger.info('root certificate loaded', { secret: secret.description });
      return keeper(material, options);
    }
    if (leadership.term() === undefined) {
      if (!isWaiting) logger.info('waiting for a root certificate, which the leader makes', { secret: secret.description });
      isWaiting = true;
      await sleep(LOOK, signal);
      continue;
    }
    attempt += 1;
    const made = await firstRoot(material, options);
    if (await secret.write(entriesOf(made), stored)) {
      logger.info('root certificate made', { secret: secret.description });
      return keeper(made, options);
    }
    logger.info('another replica stored its root certificate first', { secret: secret.description });
  }
  throw new MeshError('unavailable', `${secret.description} changes again and again while it is read`);
}

/** A root where there is none; in place of an expired one its successor, if it has one, or a new one. */
async function firstRoot(expired: RootMaterial | undefined, options: SelfSignedOptions): Promise<RootMaterial> {
  const { spec, secret, logger, now, newSerial } = options;
  if (expired === undefined) {
    return { current: await makeRoot(spec, undefined, now(), newSerial()), next: undefined, previous: undefined };
  }
  logger.error('the root certificate has expired and is replaced: workloads must load the new one', {
    secret: secret.description,
  });
  const current = usableSuccessor(expired, options) ?? (await makeRoot(spec, expired.current, now(), newSerial()));
  return { current, next: undefined, previous: expired.current };
}

function usableSuccessor({ next }: RootMaterial, { now }: SelfSignedOptions): RootPems | undefined {
  if (next === undefined) return undefined;
  const { validFromDate, validToDate } = requireCertificate(next);
  return validFromDate <= now() && now() < validToDate ? next : undefined;
}

function isExpired(root: RootPems, { now }: SelfSignedOptions): boolean {
  return requireCertificate(root).validToDate < now();
}

/** Throws `failed_precondition` with advice. */
function requireUndamaged(stored: StoredPems, options: SelfSignedOptions): RootMaterial {
  try {
    const material = requireMaterial(stored);
    if (!isExpired(material.current, options)) requireAuthority(material, options.now());
    return material;
  } catch (thrown) {
    const { message } = MeshError.from(thrown);
    const advice = 'restore it from a copy, or delete it to have a new root made, which cuts off the workloads of the old one';
    throw new MeshError(
      'failed_precondition',
      `${options.secret.description} holds no usable root (${message}): ${advice}`,
      thrown,
    );
  }
}

function keeper(first: RootMaterial, options: SelfSignedOptions): SelfSigned {
  const { secret, logger, leadership } = options;
  let material = first;
  const authority = new AuthorityHolder(requireAuthority(material, options.now()));
  let applied = trustedCerts(material, options.now());
  let nextSeen = seen(material.next, undefined, options);
  let lastFailure: string | undefined;

  /** What is stored may be as it was; then nothing changes. */
  function adopt(stored: RootMaterial): void {
    material = stored;
    // Also a root that expires changes what is trusted.
    const trusted = trustedCerts(stored, options.now());
    // An expired root makes no authority; its successor will.
    if (trusted !== applied && !isExpired(stored.current, options)) {
      authority.replace(requireAuthority(stored, options.now()));
      applied = trusted;
    }
    // What is published follows the authority, so this comes after it.
    nextSeen = seen(stored.next, nextSeen, options);
  }

  async function pass(): Promise<void> {
    const stored = await secret.read();
    if (stored === undefined) {
      if (leadership.term() !== undefined && (await secret.write(entriesOf(material), undefined)))
        logger.warn('the root certificate was gone from the store and is back');
      return;
    }
    adopt(requireUndamaged(stored, options));
    if (leadership.term() === undefined) return;
    const after = await advance(material, nextSeen, options);
    // A key takes its time; the term may have ended meanwhile.
    if (after === undefined || leadership.term() === undefined) return;
    if (await secret.write(entriesOf(after), stored)) adopt(after);
  }

  return {
    authority,
    async keepUp() {
      try {
        await pass();
        lastFailure = undefined;
      } catch (thrown) {
        const { message } = MeshError.from(thrown);
        if (message === lastFailure) return;
        lastFailure = message;
        logger.error('the stored root certificate cannot be kept up; the one in force stays', { reason: message });
      }
    },
  };
}

/** Since when, by a clock that never jumps. */
interface Seen {
  readonly cert: string;
  readonly known: Duration;
  /** Undefined: somebody still waits for it. */
  readonly published: Duration | undefined;
}

/** Since when this process knows of a successor, and since when everybody was seen to have been given it. */
function seen(next: RootPems | undefined, before: Seen | undefined, { uptime, missing }: SelfSignedOptions): Seen | undefined {
  if (next === undefined) return undefined;
  const same = before?.cert === next.cert ? before : undefined;
  const published = missing().length > 0 ? undefined : (same?.published ?? uptime());
  return { cert: next.cert, known: same?.known ?? uptime(), published };
}

/** What is to be stored next; undefined when nothing is due. */
async function advance(
  material: RootMaterial,
  nextSeen: Seen | undefined,
  options: SelfSignedOptions,
): Promise<RootMaterial | undefined> {
  const { spec, grace, now, uptime, newSerial, logger } = options;
  const { current, next } = material;
  const time = uptime();
  const state = {
    nextKnownFor: milliseconds(time - (nextSeen?.known ?? time)),
    nextPublishedFor: milliseconds(time - (nextSeen?.published ?? time)),
    current: validityOf(current),
    next: next && validityOf(next),
  };
  const step = rotationStep(state, grace, now());
  switch (step.type) {
    case 'none':
      return undefined;
    case 'make-next': {
      const made = await makeRoot(spec, current, now(), newSerial());
      const expires = state.current.notAfter.toISOString();
      logger.warn('the root certificate has a successor, which is published beside it and signs later', { expires });
      return { ...material, next: made };
    }
    case 'switch':
      if (nextSeen?.published === undefined) logWaiting(options);
      logger.warn('the successor of the root certificate signs from now on', { until: state.next?.notAfter.toISOString() });
      return { current: next ?? current, next: undefined, previous: current };
  }
}

function logWaiting({ missing, logger }: SelfSignedOptions): void {
  const waiting = missing();
  logger.error('the root certificate ends soon, so its successor signs though not everybody was given it', {
    missing: waiting.slice(0, MAX_NAMED),
    count: waiting.length,
  });
}

function validityOf(root: RootPems): { readonly notBefore: Date; readonly notAfter: Date } {
  const { validFromDate, validToDate } = requireCertificate(root);
  return { notBefore: validFromDate, notAfter: validToDate };
}
