import type { Logger } from '../io/log/logger.ts';
import { checkChain, parseCertificateChain } from '../io/x509/chain.ts';
import { type Backoff, jittered } from '../lib/backoff.ts';
import { type Duration, milliseconds, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import type { RequestIdentity } from './certificate-request.ts';
import { type Clock, sleepUntil } from './clock.ts';
import type { AgentMetrics } from './metrics.ts';
import type { Identity, SecretHolder } from './secrets.ts';

/** The part of a certificate's life that is left when it is renewed. */
const GRACE_RATIO = 0.5;
/** The renewal comes up to this part of the life earlier, so that a mesh started at once does not renew at once. */
const JITTER_RATIO = 0.1;
const RETRY: Backoff = { first: seconds(0.5), longest: seconds(30) };
/** A certificate that is renewed at once again and again would be a flood of requests. */
const SHORTEST_INTERVAL: Duration = seconds(1);

export interface RotationDeps {
  readonly request: RequestIdentity;
  readonly holder: SecretHolder;
  readonly clock: Clock;
  /** Gives [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: AgentMetrics;
}

/**
 * Keeps the holder's identity fresh until the signal aborts: gets the first one as soon as there are roots, renews it in
 * time, and at once when it no longer leads to the roots. A failure keeps what there is and is tried again.
 */
export async function keepIdentityFresh(deps: RotationDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await untilDue(deps, signal);
      await renew(deps, signal);
      await deps.clock.sleep(SHORTEST_INTERVAL, signal);
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    }
  }
}

/** When to renew: at half of the life that was left when it was obtained, a little earlier by chance. */
export function renewalTime(identity: Identity, random: () => number): Date {
  const life = lifeOf(identity);
  return new Date(identity.notAfter.getTime() - life * (GRACE_RATIO + JITTER_RATIO * random()));
}

const lifeOf = (identity: Identity): number => identity.notAfter.getTime() - identity.obtainedAt.getTime();

async function untilDue({ holder, clock, random }: RotationDeps, signal: AbortSignal): Promise<void> {
  const { identity } = holder.current;
  const time = identity === undefined ? undefined : renewalTime(identity, random);
  for (;;) {
    const { identity: held, rootsPem } = holder.current;
    if (rootsPem !== undefined && (held === undefined || time === undefined || !leadsTo(held, rootsPem, clock.now()))) return;
    const waiting = new AbortController();
    const stop = AbortSignal.any([signal, waiting.signal]);
    const changed = new Promise<'changed'>((resolve) => {
      const forget = holder.onChange(() => resolve('changed'));
      stop.addEventListener('abort', forget, { once: true });
    });
    const due =
      rootsPem === undefined || time === undefined ? aborted(stop) : sleepUntil(time, clock, stop).then(() => 'due' as const);
    try {
      if ((await Promise.race([changed, due])) === 'due') return;
    } finally {
      waiting.abort();
      due.catch(() => {});
    }
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = () => reject(new MeshError('cancelled', 'the wait was cancelled'));
    if (signal.aborted) fail();
    else signal.addEventListener('abort', fail, { once: true });
  });
}

function leadsTo(identity: Identity, rootsPem: string, now: Date): boolean {
  const chain = parseCertificateChain(identity.chainPem);
  const roots = parseCertificateChain(rootsPem);
  if (!chain.ok || !roots.ok) return false;
  const [leaf, ...intermediates] = chain.value;
  return leaf !== undefined && checkChain({ leaf, intermediates, roots: roots.value }, now).length === 0;
}

async function renew(deps: RotationDeps, signal: AbortSignal): Promise<void> {
  const { holder, clock, logger, metrics } = deps;
  for (let attempt = 1; ; attempt += 1) {
    const { rootsPem } = holder.current;
    if (rootsPem === undefined) return;
    try {
      const identity = await deps.request(rootsPem, signal);
      metrics.certificateObtained(identity.notAfter);
      logger.info('a certificate was obtained', { notAfter: identity.notAfter.toISOString() });
      holder.set({ identity });
      return;
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      const wait = jittered(RETRY, attempt, deps.random);
      metrics.certificateFailed();
      report(deps, MeshError.from(thrown), wait);
      await clock.sleep(wait, signal);
    }
  }
}

/** The longer it goes wrong, the louder. */
function report({ holder, clock, logger }: RotationDeps, error: MeshError, wait: Duration): void {
  const fields = { error: error.message, code: error.code, retryInMs: Math.round(wait) };
  const { identity } = holder.current;
  if (identity === undefined) {
    logger.warn('no certificate yet: the request failed', fields);
    return;
  }
  const left = milliseconds(identity.notAfter.getTime() - clock.now().getTime());
  const withTime = { ...fields, notAfter: identity.notAfter.toISOString() };
  if (left <= 0) logger.error('the certificate has expired and cannot be renewed: peers refuse this workload', withTime);
  else if (left < lifeOf(identity) / 4) logger.error('the certificate expires soon and cannot be renewed', withTime);
  else logger.warn('the certificate cannot be renewed yet', withTime);
}
