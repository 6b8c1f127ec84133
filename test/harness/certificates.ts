/** Certificates for tests, made by the code under test and by openssl. */
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type IssuerKey, signCertificate, signRoot } from '../../src/io/x509/certificate.ts';
import { readDetails } from '../../src/io/x509/certificate-details.ts';
import { generateKeyPair, type KeyPair, type KeyType } from '../../src/io/x509/key.ts';
import { type CertificateTemplate, validityFrom } from '../../src/io/x509/template.ts';
import { seconds } from '../../src/lib/duration.ts';

export const NOW = new Date('2026-05-01T12:00:00.000Z');
export const DAY = 24 * 3600;

export interface TestCa {
  readonly certificate: X509Certificate;
  readonly pair: KeyPair;
  readonly issuerKey: IssuerKey;
}

/** Serial numbers that differ from one another and look random enough. */
let nextSerial = 1;
export function testSerial(): Uint8Array {
  nextSerial += 1;
  return Uint8Array.from([0x7f, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, nextSerial >> 8, nextSerial & 0xff]);
}

export function caTemplate(pair: KeyPair, changes: Partial<CertificateTemplate> = {}): CertificateTemplate {
  return {
    subject: { organization: 'test' },
    names: [],
    publicKey: pair.publicKey,
    serial: testSerial(),
    ...validityFrom(NOW, seconds(365 * DAY)),
    use: { type: 'ca' },
    ...changes,
  };
}

export async function makeRoot(type: KeyType = 'ec-p256', changes: Partial<CertificateTemplate> = {}): Promise<TestCa> {
  const pair = await generateKeyPair(type);
  return asCa(new X509Certificate(await signRoot(caTemplate(pair, changes), pair.privateKey)), pair);
}

/** An authority below another one. */
export async function makeIntermediate(parent: TestCa, changes: Partial<CertificateTemplate> = {}): Promise<TestCa> {
  const pair = await generateKeyPair('ec-p256');
  const template = caTemplate(pair, { subject: { commonName: 'intermediate' }, ...changes });
  return asCa(new X509Certificate(await signCertificate(template, parent.issuerKey)), pair);
}

function asCa(certificate: X509Certificate, pair: KeyPair): TestCa {
  const details = readDetails(certificate);
  if (!details.ok) throw new Error('the certificate cannot be read');
  const { subjectDer, subjectKeyId } = details.value;
  return { certificate, pair, issuerKey: { subjectDer, keyId: subjectKeyId, privateKey: pair.privateKey } };
}

/** A workload's certificate, one field of which may be changed. */
export function leafTemplate(pair: KeyPair, changes: Partial<CertificateTemplate> = {}): CertificateTemplate {
  return {
    subject: {},
    names: [{ type: 'uri', value: 'spiffe://cluster.local/ns/foo/sa/httpbin' }],
    publicKey: pair.publicKey,
    serial: testSerial(),
    ...validityFrom(NOW, seconds(DAY)),
    use: { type: 'tls', server: true, client: true },
    ...changes,
  };
}

export async function signLeaf(ca: TestCa, template: CertificateTemplate): Promise<X509Certificate> {
  return new X509Certificate(await signCertificate(template, ca.issuerKey));
}

/** Runs openssl with files in a directory that is removed afterwards; both outputs together. */
export function openssl(files: Readonly<Record<string, string>>, ...args: readonly string[]): string {
  const cwd = mkdtempSync(join(tmpdir(), 'mesh-openssl-'));
  try {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
    return execFileSync('openssl', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    return `failed: ${stdout ?? ''}${stderr ?? String(error)}`;
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}
