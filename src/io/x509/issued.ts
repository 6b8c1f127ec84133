/** Checks our own output: what we are about to hand out says what was decided, nothing else, and is signed by the issuer. */
import type { KeyObject, X509Certificate } from 'node:crypto';
import { MeshError, type Problem } from '../../lib/errors.ts';
import { readDetails } from './certificate-details.ts';
import { DerError, sameBytes } from './der-read.ts';
import {
  extensionValue,
  type IssuedContent,
  readAltNames,
  readAuthorityKeyId,
  readBasicConstraints,
  readIssued,
  readNamedBits,
  readPermittedUriHost,
  readPurposes,
  readSubjectKeyId,
} from './issued-read.ts';
import { keyIdOf, publicKeyDer } from './key.ts';
import { OID } from './oids.ts';
import { verifyDer } from './signature.ts';
import type { CertificateTemplate } from './template.ts';

/** What a certificate is compared with, read once from its issuer's own. */
export interface Issuer {
  readonly subjectDer: Uint8Array;
  readonly keyId: Uint8Array | undefined;
  readonly publicKey: KeyObject;
  readonly notAfter: Date;
}

/** Throws `invalid` for a certificate whose extensions cannot be read. */
export function issuerOf(certificate: X509Certificate): Issuer {
  const details = readDetails(certificate);
  if (!details.ok) throw new MeshError('invalid', details.problems.map(({ message }) => message).join('; '));
  const { subjectDer, subjectKeyId } = details.value;
  return { subjectDer, keyId: subjectKeyId, publicKey: certificate.publicKey, notAfter: certificate.validToDate };
}

/** Every way in which a certificate differs from the template it was made from, or from what its issuer may issue. */
export function issuedProblems(der: Uint8Array, template: CertificateTemplate, issuer: Issuer): readonly Problem[] {
  try {
    const content = readIssued(der);
    return [
      ...fieldProblems(content, template, issuer),
      ...extensionProblems(content, template, issuer),
      ...signatureProblems(content, issuer),
    ];
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return [{ path: '', message: `cannot be read: ${error.message}` }];
  }
}

function fieldProblems(content: IssuedContent, template: CertificateTemplate, issuer: Issuer): readonly Problem[] {
  const problems: Problem[] = [];
  const expect = expectation(problems);
  const { organization = '', commonName = '' } = template.subject;
  const subject = [
    ...(organization === '' ? [] : [`${OID.organization}=${organization}`]),
    ...(commonName === '' ? [] : [`${OID.commonName}=${commonName}`]),
  ];
  expect(sameItems(content.subject, subject), 'subject', () => `has the subject "${content.subject}", not "${subject}"`);
  expect(sameBytes(content.serial, magnitude(template.serial)), 'serial', 'has another serial number than asked for');
  expect(sameTime(content.notBefore, template.notBefore), 'notBefore', 'is valid from another time than asked for');
  expect(sameTime(content.notAfter, template.notAfter), 'notAfter', 'expires at another time than asked for');
  expect(content.notBefore < content.notAfter, 'notAfter', 'expires before it becomes valid');
  expect(content.notAfter <= issuer.notAfter, 'notAfter', 'expires after its issuer');
  expect(sameBytes(content.spki, publicKeyDer(template.publicKey)), 'publicKey', 'holds another public key than the request');
  expect(sameBytes(content.issuerDer, issuer.subjectDer), 'issuer', 'does not name its issuer');
  return problems;
}

function extensionProblems(content: IssuedContent, template: CertificateTemplate, issuer: Issuer): readonly Problem[] {
  const problems: Problem[] = [];
  const expect = expectation(problems);
  const read = <T>(name: keyof typeof OID, parse: (value: Uint8Array) => T): T | undefined => {
    const value = extensionValue(content, name);
    return value === undefined ? undefined : parse(value);
  };
  const expected = expectedExtensions(template, issuer);
  const actual = [...content.extensions].map(([oid, { critical }]) => `${oid}${critical ? ' critical' : ''}`);
  expect(sameItems(actual.toSorted(), expected.toSorted()), 'extensions', () => `has the extensions ${actual}, not ${expected}`);

  const names = read('subjectAltName', readAltNames) ?? { known: [], hasOther: false };
  const texts = (list: CertificateTemplate['names']): string => list.map(({ type, value }) => `${type}:${value}`).join(', ');
  const [has, wanted] = [texts(names.known), texts(template.names)];
  expect(has === wanted && !names.hasOther, 'names', () => `has the names "${has}", not "${wanted}"`);

  const { isCa, pathLength } = read('basicConstraints', readBasicConstraints) ?? { isCa: false, pathLength: undefined };
  const isMeantAsCa = template.use.type === 'ca';
  expect(isCa === isMeantAsCa, 'use', isCa ? 'is a certificate authority' : 'is no certificate authority');
  const { use } = template;
  expect(pathLength === (use.type === 'ca' ? use.pathLength : undefined), 'use', () => `has the path length ${pathLength}`);
  const usage = read('keyUsage', readNamedBits) ?? [];
  expect(sameItems(usage, keyUsageOf(template)), 'use', () => `has the key usage ${usage}, not ${keyUsageOf(template)}`);
  const purposes = read('extendedKeyUsage', readPurposes) ?? [];
  expect(sameItems(purposes, purposesOf(template)), 'use', () => `is for ${purposes}, not ${purposesOf(template)}`);
  const host = read('nameConstraints', readPermittedUriHost);
  expect(host === (use.type === 'ca' ? use.permittedUriHost : undefined), 'use', () => `may name URIs of ${host}`);

  const keyId = read('subjectKeyIdentifier', readSubjectKeyId);
  const ownKeyId = keyIdOf(publicKeyDer(template.publicKey));
  expect(keyId !== undefined && sameBytes(keyId, ownKeyId), 'publicKey', 'has the identifier of another key');
  const authorityKeyId = read('authorityKeyIdentifier', readAuthorityKeyId);
  const isIssuers = authorityKeyId === undefined || (issuer.keyId !== undefined && sameBytes(authorityKeyId, issuer.keyId));
  expect(isIssuers, 'issuer', 'names another key of its issuer');
  return problems;
}

function signatureProblems({ algorithm, tbs, signature }: IssuedContent, issuer: Issuer): readonly Problem[] {
  if (verifyDer(algorithm, tbs, signature, issuer.publicKey) === 'valid') return [];
  return [{ path: 'signature', message: 'is not signed with the key of its issuer' }];
}

/** A message that takes making is made only where it is needed. */
function expectation(problems: Problem[]): (holds: boolean, path: string, message: string | (() => string)) => void {
  return (holds, path, message) => {
    if (!holds) problems.push({ path, message: typeof message === 'string' ? message : message() });
  };
}

/** Identifiers, with `critical` where they must be. */
function expectedExtensions({ use, names, subject }: CertificateTemplate, issuer: Issuer): readonly string[] {
  const isNameless = (subject.organization ?? '') === '' && (subject.commonName ?? '') === '';
  return [
    `${OID.keyUsage} critical`,
    `${OID.basicConstraints} critical`,
    OID.subjectKeyIdentifier,
    ...(use.type === 'tls' ? [OID.extendedKeyUsage] : []),
    ...(use.type === 'ca' && use.permittedUriHost !== undefined ? [`${OID.nameConstraints} critical`] : []),
    ...(issuer.keyId === undefined ? [] : [OID.authorityKeyIdentifier]),
    ...(names.length === 0 ? [] : [`${OID.subjectAltName}${isNameless ? ' critical' : ''}`]),
  ];
}

/** Numbers of KeyUsage's bits: digitalSignature, keyEncipherment for RSA; keyCertSign, cRLSign. */
function keyUsageOf({ use, publicKey }: CertificateTemplate): readonly number[] {
  if (use.type === 'ca') return [5, 6];
  return publicKey.asymmetricKeyType === 'rsa' ? [0, 2] : [0];
}

function purposesOf({ use }: CertificateTemplate): readonly string[] {
  if (use.type === 'ca') return [];
  return [...(use.server ? [OID.serverAuth] : []), ...(use.client ? [OID.clientAuth] : [])];
}

function magnitude(serial: Uint8Array): Uint8Array {
  const first = serial.findIndex((byte) => byte !== 0);
  return first === -1 ? Uint8Array.of(0) : serial.subarray(first);
}

function sameItems(left: readonly (string | number)[], right: readonly (string | number)[]): boolean {
  return left.length === right.length && left.every((item, index) => item === right[index]);
}

function sameTime(actual: Date, asked: Date): boolean {
  return actual.getTime() === Math.floor(asked.getTime() / 1000) * 1000;
}
