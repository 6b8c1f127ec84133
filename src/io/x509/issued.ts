/** Checks our own output: what we are about to hand out says what was decided, nothing else, and is signed by the issuer. */
import type { X509Certificate } from 'node:crypto';
import type { Problem } from '../../lib/errors.ts';
import type { SubjectAltName } from './names.ts';
import { OID } from './oids.ts';
import type { CertificateTemplate } from './template.ts';

/** Every way in which a certificate differs from the template it was made from, or from what its issuer may issue. */
export function issuedProblems(
  certificate: X509Certificate,
  template: CertificateTemplate,
  issuer: X509Certificate,
): readonly Problem[] {
  const problems: Problem[] = [];
  const expect = (holds: boolean, path: string, message: string): void => {
    if (!holds) problems.push({ path, message });
  };
  const names = template.names.map(textOf).join(', ');
  expect(
    (certificate.subjectAltName ?? '') === names,
    'names',
    `has the names "${certificate.subjectAltName ?? ''}", not "${names}"`,
  );
  expect(certificate.serialNumber === serialText(template.serial), 'serial', 'has another serial number than asked for');
  expect(sameTime(certificate.validFromDate, template.notBefore), 'notBefore', 'is valid from another time than asked for');
  expect(sameTime(certificate.validToDate, template.notAfter), 'notAfter', 'expires at another time than asked for');
  expect(certificate.validFromDate < certificate.validToDate, 'notAfter', 'expires before it becomes valid');
  expect(certificate.validToDate <= issuer.validToDate, 'notAfter', 'expires after its issuer');
  expect(
    certificate.ca === (template.use.type === 'ca'),
    'use',
    certificate.ca ? 'is a certificate authority' : 'is no certificate authority',
  );
  const purposes = purposesOf(template);
  expect(
    sameItems(certificate.keyUsage ?? [], purposes),
    'use',
    `is for ${certificate.keyUsage ?? 'every use'}, not ${purposes}`,
  );
  expect(certificate.publicKey.equals(template.publicKey), 'publicKey', 'holds another public key than the request');
  expect(certificate.checkIssued(issuer), 'issuer', 'does not name its issuer');
  expect(certificate.verify(issuer.publicKey), 'signature', 'is not signed with the key of its issuer');
  return problems;
}

/** As node prints names; ours hold no character that it would quote. */
function textOf(name: SubjectAltName): string {
  const labels = { uri: 'URI', dns: 'DNS', ip: 'IP Address', email: 'email' } as const;
  return `${labels[name.type]}:${name.value}`;
}

function serialText(serial: Uint8Array): string {
  const digits = Buffer.from(serial)
    .toString('hex')
    .toUpperCase()
    .replace(/^(00)+/, '');
  return digits === '' ? '00' : digits;
}

function purposesOf(template: CertificateTemplate): readonly string[] {
  if (template.use.type === 'ca') return [];
  const { server, client } = template.use;
  return [...(server ? [OID.serverAuth] : []), ...(client ? [OID.clientAuth] : [])];
}

function sameItems(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((item) => right.includes(item));
}

function sameTime(actual: Date, asked: Date): boolean {
  return actual.getTime() === Math.floor(asked.getTime() / 1000) * 1000;
}
