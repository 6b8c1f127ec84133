/** The self-signed root as it is kept: the one that signs, its successor once there is one, and the one before it until that expires. */
import { X509Certificate } from 'node:crypto';
import { signRoot } from '../io/x509/certificate.ts';
import { readDetails } from '../io/x509/certificate-details.ts';
import { parseCertificateChain } from '../io/x509/chain.ts';
import { generateKeyPair, type KeyType, privateKeyPem } from '../io/x509/key.ts';
import { encodePem } from '../io/x509/pem.ts';
import { validityFrom } from '../io/x509/template.ts';
import type { Duration } from '../lib/duration.ts';
import { formatProblem, MeshError } from '../lib/errors.ts';
import { Redacted } from '../lib/redacted.ts';
import { type Authority, parseAuthority } from './authority.ts';
import type { PemEntries, StoredPems } from './pem-secret.ts';

export interface RootPems {
  readonly cert: string;
  readonly key: Redacted;
}

export interface RootMaterial {
  /** Signs. */
  readonly current: RootPems;
  /** Trusted already, signs later. */
  readonly next: RootPems | undefined;
  /** Signed before; still trusted. Its key is kept so that a clock that was wrong can be mended. */
  readonly previous: RootPems | undefined;
}

const PREFIXES = { current: 'ca', next: 'next-ca', previous: 'previous-ca' } as const;
type Role = keyof typeof PREFIXES;

export function entriesOf(material: RootMaterial): PemEntries {
  const entries = (Object.keys(PREFIXES) as Role[]).flatMap((role) => {
    const pems = material[role];
    if (pems === undefined) return [];
    return [
      [`${PREFIXES[role]}-cert.pem`, new Redacted(pems.cert)],
      [`${PREFIXES[role]}-key.pem`, pems.key],
    ];
  });
  return Object.fromEntries(entries);
}

/** Throws `failed_precondition` for a Secret that lacks a part, or half of one. */
export function requireMaterial(stored: StoredPems): RootMaterial {
  const entry = (name: string): Redacted => {
    const value = stored.entry(name);
    if (value === undefined) throw new MeshError('failed_precondition', `data has no ${name}`);
    return value;
  };
  const pemsOf = (role: Role): RootPems => ({
    cert: entry(`${PREFIXES[role]}-cert.pem`).reveal(),
    key: entry(`${PREFIXES[role]}-key.pem`),
  });
  const optional = (role: Role): RootPems | undefined => {
    const parts = ['cert', 'key'].map((part) => stored.entry(`${PREFIXES[role]}-${part}.pem`));
    return parts.every((part) => part === undefined) ? undefined : pemsOf(role);
  };
  return { current: pemsOf('current'), next: optional('next'), previous: optional('previous') };
}

/** PEM of the roots that are trusted now: the current one, and the others unless they have expired. */
export function trustedCerts({ current, next, previous }: RootMaterial, now: Date): string {
  const others = [next, previous].filter((pems) => pems !== undefined && requireCertificate(pems).validToDate > now);
  return [current, ...others].map((pems) => pems?.cert ?? '').join('');
}

/** The authority that signs with the current root and trusts all of them. Throws `failed_precondition` for what is damaged. */
export function requireAuthority(material: RootMaterial, now: Date): Authority {
  const { cert: signingCert, key: signingKey } = material.current;
  const authority = parseAuthority({ signingCert, signingKey, certChain: '', rootCert: trustedCerts(material, now) }, now);
  if (authority.ok) return authority.value;
  throw new MeshError('failed_precondition', authority.problems.map(formatProblem).join('; '));
}

/** The certificate of a root; throws `failed_precondition` for what is none. */
export function requireCertificate({ cert }: RootPems): X509Certificate {
  const parsed = parseCertificateChain(cert);
  if (!parsed.ok) throw new MeshError('failed_precondition', `ca-cert.pem: ${parsed.problems.map(formatProblem).join('; ')}`);
  const [certificate] = parsed.value;
  if (certificate === undefined) throw new MeshError('failed_precondition', 'ca-cert.pem: there is no certificate');
  return certificate;
}

export interface RootSpec {
  readonly keyType: KeyType;
  readonly ttl: Duration;
  readonly organization: string;
}

/** A new root; one that follows another keeps every field of it but the dates and the key. */
export async function makeRoot(spec: RootSpec, before: RootPems | undefined, now: Date, serial: Uint8Array): Promise<RootPems> {
  const kept = before === undefined ? undefined : readDetails(requireCertificate(before));
  const pair = await generateKeyPair(spec.keyType);
  const pathLength = kept?.ok ? kept.value.pathLength : undefined;
  const template = {
    subject: kept?.ok ? { der: kept.value.subjectDer } : { organization: spec.organization },
    names: kept?.ok ? kept.value.altNames : [],
    publicKey: pair.publicKey,
    serial,
    ...validityFrom(now, spec.ttl),
    use: { type: 'ca', ...(pathLength === undefined ? {} : { pathLength }) },
  } as const;
  const certificate = new X509Certificate(await signRoot(template, pair.privateKey));
  return { cert: encodePem('CERTIFICATE', certificate.raw), key: privateKeyPem(pair.privateKey) };
}
