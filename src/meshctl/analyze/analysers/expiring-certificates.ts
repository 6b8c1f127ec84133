import type { X509Certificate } from 'node:crypto';
import { describeCertificate } from '../../../io/x509/chain.ts';
import { type Finding, subjectOf } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';
import { type HeldCertificates, heldCertificates, problemsText } from './certificates.ts';

const DAY_MS = 24 * 3600 * 1000;
/** Authorities are replaced by people, who need time for it: mesh_ca warns as early. */
const AUTHORITY_DAYS = 90;
/** mesh_ca renews a workload's certificate at half of its life; when less than this is left it does not. */
const WORKLOAD_SHARE = 0.25;

/** MESH501, MESH502, MESH503: certificates that have expired, soon will, or are none. */
export function expiringCertificates(state: MeshState): readonly Finding[] {
  return heldCertificates(state).flatMap((held) => findingsOf(held, state.now));
}

function findingsOf({ object, entry, path, use, certificates }: HeldCertificates, now: Date): readonly Finding[] {
  const subject = subjectOf(object);
  if (!certificates.ok) return [{ code: 'MESH503', subject, path, message: `${entry}: ${problemsText(certificates)}` }];
  const [first] = certificates.value;
  const certificate = use === 'roots' ? latest(certificates.value) : first;
  if (certificate === undefined) return [];
  const { validToDate: end } = certificate;
  const what = `${entry}: ${describeCertificate(certificate)}`;
  if (end <= now) return [{ code: 'MESH501', subject, path, message: `${what} expired at ${end.toISOString()}` }];
  if (!endsSoon(certificate, use, now)) return [];
  const days = Math.floor((end.getTime() - now.getTime()) / DAY_MS);
  return [{ code: 'MESH502', subject, path, message: `${what} expires at ${end.toISOString()}, in ${days} days` }];
}

function endsSoon({ validFromDate, validToDate }: X509Certificate, use: HeldCertificates['use'], now: Date): boolean {
  const left = validToDate.getTime() - now.getTime();
  if (use === 'workload') return left < WORKLOAD_SHARE * (validToDate.getTime() - validFromDate.getTime());
  return left < AUTHORITY_DAYS * DAY_MS;
}

function latest(certificates: readonly X509Certificate[]): X509Certificate | undefined {
  return certificates.toSorted((a, b) => b.validToDate.getTime() - a.validToDate.getTime())[0];
}
