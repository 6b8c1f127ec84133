/** Reads certificate signing requests (PKCS#10, RFC 2986) of strangers: bounded, and with proof that the sender has the private key. */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { CertificationRequest, type CertificationRequestInfo } from '@peculiar/asn1-csr';
import { AsnConvert } from '@peculiar/asn1-schema';
import { BasicConstraints, Extensions, type Name, SubjectAlternativeName } from '@peculiar/asn1-x509';
import type { Parsed } from '../../lib/errors.ts';
import { altNamesOf } from './certificate-details.ts';
import { publicKeyProblems } from './key.ts';
import type { SubjectAltName } from './names.ts';
import { OID } from './oids.ts';
import { decodePem } from './pem.ts';
import { verifyDer } from './signature.ts';

/** What a request asks for. Nothing in it is proven but the possession of the key. */
export interface Csr {
  readonly publicKey: KeyObject;
  readonly names: readonly SubjectAltName[];
  /** Whether names of further kinds are asked for (directory names, registered IDs, ...). */
  readonly hasOtherNames: boolean;
  /** Common names of the subject. */
  readonly commonNames: readonly string[];
  readonly asksForCa: boolean;
}

/** A request with an RSA key of 8192 bits has about 3 KiB. */
const MAX_BYTES = 32 * 1024;
const MAX_NAMES = 64;
const LABELS: ReadonlySet<string> = new Set(['CERTIFICATE REQUEST', 'NEW CERTIFICATE REQUEST']);
const LIMITS = { berOptions: { maxDepth: 24, maxNodes: 2_000, maxContentLength: MAX_BYTES } };

export function parseCsr(request: string | Uint8Array): Parsed<Csr> {
  const der = typeof request === 'string' ? derOf(request) : within(request);
  if (!der.ok) return der;
  let parsed: CertificationRequest;
  let csr: Omit<Csr, 'publicKey'>;
  try {
    parsed = AsnConvert.parse(der.value, CertificationRequest, LIMITS);
    csr = wishes(parsed.certificationRequestInfo);
  } catch {
    return bad('the certificate signing request is malformed: it is not PKCS#10 (RFC 2986)');
  }
  if (csr.names.length > MAX_NAMES) return bad(`the request asks for ${csr.names.length} names; at most ${MAX_NAMES} are read`);
  const key = provenKey(parsed);
  return key.ok ? { ok: true, value: { ...csr, publicKey: key.value } } : key;
}

function derOf(pem: string): Parsed<Uint8Array> {
  if (pem.length > 2 * MAX_BYTES) return bad('the certificate signing request is too long');
  const blocks = decodePem(pem);
  if (!blocks.ok) return bad(`the certificate signing request is malformed: ${blocks.problems[0]?.message}`);
  const [block, ...more] = blocks.value;
  if (block === undefined || more.length > 0)
    return bad(`one certificate signing request is expected, not ${more.length + 1} PEM blocks`);
  if (!LABELS.has(block.label)) return bad(`a PEM block CERTIFICATE REQUEST is expected, not ${block.label}`);
  return within(block.der);
}

function within(der: Uint8Array): Parsed<Uint8Array> {
  return der.length > MAX_BYTES ? bad('the certificate signing request is too long') : { ok: true, value: der };
}

/** The names and rights a request asks for; throws for malformed extensions. */
function wishes(info: CertificationRequestInfo): Omit<Csr, 'publicKey'> {
  const extensions = info.attributes
    .filter((attribute) => attribute.type === OID.extensionRequest)
    .flatMap((attribute) => attribute.values)
    .flatMap((value) => [...AsnConvert.parse(value, Extensions, LIMITS)]);
  const of = (oid: string) => extensions.filter(({ extnID }) => extnID === oid).map(({ extnValue }) => extnValue.buffer);
  const names = of(OID.subjectAltName).flatMap((value) => [...AsnConvert.parse(value, SubjectAlternativeName, LIMITS)]);
  const { known, hasOther } = altNamesOf(names);
  return {
    names: known,
    hasOtherNames: hasOther,
    commonNames: commonNamesOf(info.subject),
    asksForCa: of(OID.basicConstraints).some((value) => AsnConvert.parse(value, BasicConstraints, LIMITS).cA),
  };
}

function commonNamesOf(subject: Name): readonly string[] {
  return [...subject]
    .flatMap((relative) => [...relative])
    .filter((attribute) => attribute.type === OID.commonName)
    .map((attribute) => attribute.value.toString());
}

/** The public key, if it is one we accept and the request is signed with its private key. */
function provenKey(parsed: CertificationRequest): Parsed<KeyObject> {
  const key = publicKeyOf(parsed);
  if (key === undefined) return bad('the public key of the certificate signing request cannot be read');
  const problems = publicKeyProblems(key);
  if (problems.length > 0) return { ok: false, problems };
  const info = parsed.certificationRequestInfoRaw;
  if (info === undefined) return bad('the certificate signing request is malformed: it has no content');
  const algorithm = parsed.signatureAlgorithm.algorithm;
  const verdict = verifyDer(algorithm, new Uint8Array(info), new Uint8Array(parsed.signature), key);
  switch (verdict) {
    case 'valid':
      return { ok: true, value: key };
    case 'invalid':
      return bad('the certificate signing request is not signed with the key it holds');
    case 'unknown':
      return bad(
        `the certificate signing request is signed with an unsupported algorithm (${algorithm}): use SHA-256 with ECDSA or RSA`,
      );
  }
}

function publicKeyOf(parsed: CertificationRequest): KeyObject | undefined {
  try {
    const spki = AsnConvert.serialize(parsed.certificationRequestInfo.subjectPKInfo);
    return createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' });
  } catch {
    return undefined;
  }
}

function bad(message: string): Parsed<never> {
  return { ok: false, problems: [{ path: 'csr', message }] };
}
