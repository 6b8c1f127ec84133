/** When the self-signed root gets a successor, and when that signs. Pure. */

import type { Validity } from '../io/x509/template.ts';
import type { Duration } from '../lib/duration.ts';
import type { GracePeriod } from './rotation.ts';
import { untilRotation } from './rotation.ts';

export type RotationStep =
  | { readonly type: 'none' }
  /** Make the successor and have everybody trust it. */
  | { readonly type: 'make-next' }
  /** Sign with the successor; the present root stays trusted until it expires. */
  | { readonly type: 'switch' };

export interface RotationState {
  readonly current: Validity;
  readonly next: Validity | undefined;
  /** For how long the successor has been known here, by a clock that never jumps. */
  readonly nextKnownFor: Duration;
  /** And for how long everybody who needs it has been given it. */
  readonly nextPublishedFor: Duration;
}

/** A jump of the clock must not exchange the root before somebody can notice. */
const LEAST_PUBLISHED_MS = 3_600_000;

/**
 * The next step: a successor when the grace period begins; in the middle of it, once everybody was given it and had time to load it, the
 * successor signs. Who cannot be given it holds that up until an eighth of the period is left: then all would be cut off soon.
 * A root that is valid is never taken out of what is trusted.
 */
export function rotationStep(state: RotationState, grace: GracePeriod, now: Date): RotationStep {
  const { current, next } = state;
  const untilGrace = untilRotation(current, grace, now);
  if (untilGrace >= 0) return { type: 'none' };
  // One of a time when the clock was wrong is of no use.
  if (next === undefined || next.notBefore > now || next.notAfter <= current.notAfter) return { type: 'make-next' };
  const remaining = current.notAfter.getTime() - now.getTime();
  const period = remaining - untilGrace;
  const leastPublished = Math.min(LEAST_PUBLISHED_MS, period / 4);
  const isReady = remaining < period / 2 && state.nextPublishedFor >= leastPublished;
  const isUrgent = remaining < period / 8 && state.nextKnownFor >= leastPublished;
  return { type: isReady || isUrgent ? 'switch' : 'none' };
}
