/** When a certificate is due for renewal. Pure. */

import type { Validity } from '../io/x509/template.ts';
import type { Duration } from '../lib/duration.ts';

export interface GracePeriod {
  /** Of the certificate's lifetime. */
  readonly ratio: number;
  readonly minimum: Duration;
}

/** Whether the remaining life is shorter than the grace period: the larger of a part of the lifetime and a minimum. */
export function isRotationDue({ notBefore, notAfter }: Validity, grace: GracePeriod, now: Date): boolean {
  const lifetime = notAfter.getTime() - notBefore.getTime();
  // A certificate that lives shorter than the minimum would be renewed all the time.
  const period = Math.max(grace.ratio * lifetime, Math.min(grace.minimum, lifetime / 2));
  return notAfter.getTime() - now.getTime() < period;
}
