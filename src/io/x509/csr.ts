/** Makes certificate signing requests (PKCS#10, RFC 2986). Needs no library, so that an agent starts quickly. */
import {
  bitString,
  boolean,
  type Der,
  implicitList,
  objectIdentifier,
  octetString,
  sequence,
  setOf,
  unsignedInteger,
} from './der.ts';
import { type KeyPair, publicKeyDer } from './key.ts';
import { encodeAltNames, encodeSubject, type SubjectAltName } from './names.ts';
import { OID } from './oids.ts';
import { encodePem } from './pem.ts';
import { signDer, signingAlgorithm } from './signature.ts';

export interface CsrRequest extends KeyPair {
  readonly uriSans?: readonly string[];
  readonly dnsSans?: readonly string[];
  readonly organization?: string;
  readonly commonName?: string;
  /** Whether to ask for a certificate to sign others with. */
  readonly isCa?: boolean;
}

const VERSION_1 = unsignedInteger(Uint8Array.of(0));

/** A request signed with its own key, as DER and as PEM (`CERTIFICATE REQUEST`). */
export async function createCsr(request: CsrRequest): Promise<{ readonly der: Uint8Array; readonly pem: string }> {
  const names: SubjectAltName[] = [
    ...(request.uriSans ?? []).map((value) => ({ type: 'uri', value }) as const),
    ...(request.dnsSans ?? []).map((value) => ({ type: 'dns', value }) as const),
  ];
  const info = sequence(
    VERSION_1,
    encodeSubject(request),
    publicKeyDer(request.publicKey),
    implicitList(0, ...requestedExtensions(names, request.isCa === true)),
  );
  const { identifier, hash } = signingAlgorithm(request.privateKey);
  const der = sequence(info, identifier, bitString(await signDer(hash, info, request.privateKey)));
  return { der, pem: encodePem('CERTIFICATE REQUEST', der) };
}

/** The extensionRequest attribute of RFC 2985, if there is anything to ask for. */
function requestedExtensions(names: readonly SubjectAltName[], isCa: boolean): readonly Der[] {
  const extensions = [
    ...(isCa ? [sequence(objectIdentifier(OID.basicConstraints), boolean(true), octetString(sequence(boolean(true))))] : []),
    ...(names.length > 0 ? [sequence(objectIdentifier(OID.subjectAltName), octetString(encodeAltNames(names)))] : []),
  ];
  return extensions.length === 0 ? [] : [sequence(objectIdentifier(OID.extensionRequest), setOf(sequence(...extensions)))];
}
