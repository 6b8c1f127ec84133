/** Encodes and signs certificates (RFC 5280) from a template. */
import type { KeyObject } from 'node:crypto';
import {
  bitString,
  boolean,
  type Der,
  explicit,
  implicit,
  implicitList,
  namedBits,
  objectIdentifier,
  octetString,
  sequence,
  time,
  unsignedInteger,
} from './der.ts';
import { keyIdOf, publicKeyDer } from './key.ts';
import { encodeAltNames, encodeSubject, isEmptySubject } from './names.ts';
import { OID } from './oids.ts';
import { signDer, signingAlgorithm } from './signature.ts';
import type { CertificateTemplate, CertificateUse } from './template.ts';

/** Who signs: the name and key identifier as its own certificate has them, and its private key. */
export interface IssuerKey {
  readonly subjectDer: Uint8Array;
  readonly keyId: Uint8Array | undefined;
  readonly privateKey: KeyObject;
}

const VERSION_3 = explicit(0, unsignedInteger(Uint8Array.of(2)));
const USAGE_BITS = { digitalSignature: 0, keyEncipherment: 2, keyCertSign: 5, crlSign: 6 } as const;

/** What many certificates say in the same way is encoded once. Key encipherment is a use of RSA keys only. */
const CA_USAGE = usage(USAGE_BITS.keyCertSign, USAGE_BITS.crlSign);
const RSA_USAGE = usage(USAGE_BITS.digitalSignature, USAGE_BITS.keyEncipherment);
const ECDSA_USAGE = usage(USAGE_BITS.digitalSignature);
const NO_AUTHORITY = extension(OID.basicConstraints, true, sequence());
const BOTH_PURPOSES = purposes(OID.serverAuth, OID.clientAuth);

function usage(...bits: readonly number[]): Der {
  return extension(OID.keyUsage, true, namedBits(bits));
}

/** The signed certificate as DER. */
export async function signCertificate(template: CertificateTemplate, issuer: IssuerKey): Promise<Uint8Array> {
  const { identifier, hash } = signingAlgorithm(issuer.privateKey);
  const tbs = encodeToBeSigned(template, issuer, identifier);
  return sequence(tbs, identifier, bitString(await signDer(hash, tbs, issuer.privateKey)));
}

/** A certificate signed with its own key. */
export function signRoot(template: CertificateTemplate, privateKey: KeyObject): Promise<Uint8Array> {
  const subjectDer = encodeSubject(template.subject);
  return signCertificate(template, { subjectDer, keyId: keyIdOf(publicKeyDer(template.publicKey)), privateKey });
}

function encodeToBeSigned(template: CertificateTemplate, issuer: IssuerKey, algorithm: Der): Der {
  const spki = publicKeyDer(template.publicKey);
  return sequence(
    VERSION_3,
    unsignedInteger(template.serial),
    algorithm,
    issuer.subjectDer,
    sequence(time(template.notBefore), time(template.notAfter)),
    encodeSubject(template.subject),
    spki,
    explicit(3, sequence(...extensions(template, spki, issuer.keyId))),
  );
}

function extensions(template: CertificateTemplate, spki: Uint8Array, issuerKeyId: Uint8Array | undefined): readonly Der[] {
  const list = [
    keyUsage(template),
    template.use.type === 'tls' ? NO_AUTHORITY : extension(OID.basicConstraints, true, basicConstraints(template.use)),
    extension(OID.subjectKeyIdentifier, false, octetString(keyIdOf(spki))),
  ];
  if (template.use.type === 'tls') list.push(extendedKeyUsage(template.use));
  if (template.use.type === 'ca' && template.use.permittedUriHost !== undefined) {
    list.push(extension(OID.nameConstraints, true, permittedUris(template.use.permittedUriHost)));
  }
  if (issuerKeyId !== undefined) list.push(extension(OID.authorityKeyIdentifier, false, sequence(implicit(0, issuerKeyId))));
  if (template.names.length > 0) {
    list.push(extension(OID.subjectAltName, isEmptySubject(template.subject), encodeAltNames(template.names)));
  }
  return list;
}

function extension(oid: string, critical: boolean, value: Der): Der {
  const flag = critical ? [boolean(true)] : [];
  return sequence(objectIdentifier(oid), ...flag, octetString(value));
}

function keyUsage({ use, publicKey }: CertificateTemplate): Der {
  if (use.type === 'ca') return CA_USAGE;
  return publicKey.asymmetricKeyType === 'rsa' ? RSA_USAGE : ECDSA_USAGE;
}

function basicConstraints(use: Extract<CertificateUse, { type: 'ca' }>): Der {
  return use.pathLength === undefined
    ? sequence(boolean(true))
    : sequence(boolean(true), unsignedInteger(Uint8Array.of(use.pathLength)));
}

/** NameConstraints with one permitted subtree: URIs of a host. */
function permittedUris(host: string): Der {
  return sequence(implicitList(0, sequence(implicit(6, Buffer.from(host, 'latin1')))));
}

function extendedKeyUsage({ server, client }: { readonly server: boolean; readonly client: boolean }): Der {
  if (server && client) return BOTH_PURPOSES;
  return purposes(...(server ? [OID.serverAuth] : []), ...(client ? [OID.clientAuth] : []));
}

function purposes(...oids: readonly string[]): Der {
  return extension(OID.extendedKeyUsage, false, sequence(...oids.map(objectIdentifier)));
}
