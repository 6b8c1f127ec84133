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
  /** For how long the successor is known to be published, by a clock that never jumps. */
  readonly nextPublishedFor: Duration;
}

/** A jump of the clock must not exchange the root before somebody can notice. */
const LEAST_PUBLISHED_MS = 3_600_000;

/**
 * The next step: a successor when the grace period begins; in the middle of it, once everybody had time to load it, the successor signs.
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
  const isLate = remaining < period / 2;
  const isPublished = state.nextPublishedFor >= Math.min(LEAST_PUBLISHED_MS, period / 4);
  return { type: isLate && isPublished ? 'switch' : 'none' };
}
