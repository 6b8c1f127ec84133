/** Tells in good time that a certificate of the authority itself runs out: roots that expire unnoticed stop a mesh. */

import type { Logger } from '../io/log/logger.ts';
import { describeCertificate } from '../io/x509/chain.ts';
import type { Authority } from './authority.ts';

export interface ExpiryNotice {
  readonly level: 'warn' | 'error';
  readonly certificate: string;
  readonly daysLeft: number;
  readonly expires: string;
}

const DAY_MS = 24 * 3600 * 1000;
const WARN_DAYS = 90;
const ERROR_DAYS = 14;

/** What is to be said about the signing certificate and what stands above it; roots that nothing is signed below may expire. */
export function expiryNotices(authority: Authority, now: Date): readonly ExpiryNotice[] {
  const { path } = authority;
  return path.flatMap((certificate): readonly ExpiryNotice[] => {
    const daysLeft = Math.floor((certificate.validToDate.getTime() - now.getTime()) / DAY_MS);
    if (daysLeft >= WARN_DAYS) return [];
    const expires = certificate.validToDate.toISOString();
    return [
      { level: daysLeft < ERROR_DAYS ? 'error' : 'warn', certificate: describeCertificate(certificate), daysLeft, expires },
    ];
  });
}

export function logExpiry(authority: Authority, now: Date, logger: Logger): void {
  for (const { level, ...fields } of expiryNotices(authority, now)) {
    logger[level]('a certificate of the authority expires soon: replace it before then', fields);
  }
}

/** One line for each certificate that is needed to sign, for people and for monitoring that looks at the liveness file. */
export function statusText({ path }: Authority, now: Date): string {
  const lines = path.map((certificate) => {
    const expires = certificate.validToDate;
    const days = Math.floor((expires.getTime() - now.getTime()) / DAY_MS);
    return `expires ${expires.toISOString()} days ${days} certificate ${describeCertificate(certificate)}\n`;
  });
  return lines.join('');
}
