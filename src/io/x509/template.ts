/** What a certificate shall say, before it is encoded and signed. Pure: serial numbers and the time are given. */
import type { KeyObject } from 'node:crypto';
import type { Duration } from '../../lib/duration.ts';
import type { SubjectAltName, SubjectName } from './names.ts';

export type CertificateUse =
  /** TLS by a workload or server: as a server, a client, or both. */
  | { readonly type: 'tls'; readonly server: boolean; readonly client: boolean }
  /**
   * Signing certificates; a path length of 0 allows no further CA below. With a permitted host, URI names of what they sign must
   * be of just that host (RFC 5280, 4.2.1.10), for SPIFFE IDs the trust domain.
   */
  | { readonly type: 'ca'; readonly pathLength?: number; readonly permittedUriHost?: string };

export interface CertificateTemplate {
  readonly subject: SubjectName;
  /** Subject alternative names; the extension is critical when the subject is empty (RFC 5280, 4.2.1.6). */
  readonly names: readonly SubjectAltName[];
  readonly publicKey: KeyObject;
  /** Big-endian, positive once encoded; 16 random bytes. */
  readonly serial: Uint8Array;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly use: CertificateUse;
}

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** Clocks of workloads may be behind ours by this much. */
const BACKDATE_MS = 2 * 60 * 1000;

/**
 * A validity from (a little before) now on, never outside of the issuer's own. Whole seconds, as certificates have them.
 * Without an issuer, for a root, only the time to live counts.
 */
export function validityFrom(now: Date, ttl: Duration, issuer?: Validity): Validity {
  const start = Math.max(now.getTime() - BACKDATE_MS, issuer?.notBefore.getTime() ?? 0);
  const end = Math.min(now.getTime() + ttl, issuer?.notAfter.getTime() ?? Number.POSITIVE_INFINITY);
  return { notBefore: wholeSecond(start), notAfter: wholeSecond(end) };
}

function wholeSecond(time: number): Date {
  return new Date(Math.floor(time / 1000) * 1000);
}
