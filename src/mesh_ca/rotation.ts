/** When a certificate is due for renewal. Pure. */

import type { Validity } from '../io/x509/template.ts';
import { type Duration, milliseconds } from '../lib/duration.ts';

export interface GracePeriod {
  /** Of the certificate's lifetime. */
  readonly ratio: number;
  readonly minimum: Duration;
}

/** Until the remaining life is as long as the grace period, the larger of a part of the lifetime and a minimum; below 0: overdue. */
export function untilRotation({ notBefore, notAfter }: Validity, grace: GracePeriod, now: Date): Duration {
  const lifetime = notAfter.getTime() - notBefore.getTime();
  // A certificate that lives shorter than the minimum would be renewed all the time.
  const period = Math.max(grace.ratio * lifetime, Math.min(grace.minimum, lifetime / 2));
  return milliseconds(notAfter.getTime() - now.getTime() - period);
}

export function isRotationDue(validity: Validity, grace: GracePeriod, now: Date): boolean {
  return untilRotation(validity, grace, now) < 0;
}
