/** Reads what node's X509Certificate does not tell, or only as text: the extensions of RFC 5280, by the library's schemas. */
import type { X509Certificate } from 'node:crypto';
import { AsnConvert } from '@peculiar/asn1-schema';
import {
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  type Extension,
  type GeneralName,
  type GeneralSubtree,
  KeyUsage,
  NameConstraints,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
} from '@peculiar/asn1-x509';
import type { Parsed } from '../../lib/errors.ts';
import type { SubjectAltName } from './names.ts';
import { OID } from './oids.ts';

export interface CertificateDetails {
  /** The subject as it is encoded in the certificate; an issuer's goes byte for byte into what it issues. */
  readonly subjectDer: Uint8Array;
  readonly subjectKeyId: Uint8Array | undefined;
  readonly altNames: readonly SubjectAltName[];
  /** Whether there are names of kinds that altNames has no place for. */
  readonly hasOtherNames: boolean;
  readonly altNamesCritical: boolean;
  readonly isCa: boolean;
  readonly pathLength: number | undefined;
  /** Bits of KeyUsage by their number; undefined: no such extension, so every usage. */
  readonly keyUsage: ReadonlySet<number> | undefined;
  readonly extendedKeyUsage: ReadonlySet<string> | undefined;
  /** URI subtrees of NameConstraints, as they stand there; permitted undefined: every URI. */
  readonly uriConstraints: { readonly permitted: readonly string[] | undefined; readonly excluded: readonly string[] };
}

export function readDetails(certificate: X509Certificate): Parsed<CertificateDetails> {
  try {
    return detailsOf(certificate.raw);
  } catch (error) {
    return bad(`the certificate's extensions cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function detailsOf(raw: Uint8Array): Parsed<CertificateDetails> {
  const { tbsCertificate: tbs } = AsnConvert.parse(raw, Certificate);
  const subjectDer = new Uint8Array(AsnConvert.serialize(tbs.subject));
  if (!Buffer.from(raw).includes(Buffer.from(subjectDer))) return bad('the subject is not encoded in DER');
  const extensions = new Map((tbs.extensions ?? []).map((extension) => [extension.extnID, extension]));
  if (extensions.size !== (tbs.extensions?.length ?? 0)) return bad('an extension appears twice');
  const names = extensions.get(OID.subjectAltName);
  const alternative = read(names, SubjectAlternativeName);
  const basic = read(extensions.get(OID.basicConstraints), BasicConstraints);
  const keyId = read(extensions.get(OID.subjectKeyIdentifier), SubjectKeyIdentifier);
  const usage = read(extensions.get(OID.keyUsage), KeyUsage);
  const extended = read(extensions.get(OID.extendedKeyUsage), ExtendedKeyUsage);
  const altNames = altNamesOf(alternative ?? []);
  return {
    ok: true,
    value: {
      subjectDer,
      subjectKeyId: keyId === undefined ? undefined : new Uint8Array(keyId.buffer),
      altNames: altNames.known,
      hasOtherNames: altNames.hasOther,
      altNamesCritical: names?.critical ?? false,
      isCa: basic?.cA ?? false,
      pathLength: basic?.pathLenConstraint,
      keyUsage: usage === undefined ? undefined : bitsOf(usage.toNumber()),
      extendedKeyUsage: extended === undefined ? undefined : new Set(extended),
      uriConstraints: uriConstraintsOf(read(extensions.get(OID.nameConstraints), NameConstraints)),
    },
  };
}

function read<T>(extension: Extension | undefined, type: new () => T): T | undefined {
  return extension === undefined ? undefined : AsnConvert.parse(extension.extnValue.buffer, type);
}

function uriConstraintsOf(constraints: NameConstraints | undefined): CertificateDetails['uriConstraints'] {
  const uris = (trees: Iterable<GeneralSubtree> | undefined): readonly string[] =>
    [...(trees ?? [])].flatMap(({ base }) =>
      base.uniformResourceIdentifier === undefined ? [] : [base.uniformResourceIdentifier],
    );
  const permitted = uris(constraints?.permittedSubtrees);
  return { permitted: permitted.length === 0 ? undefined : permitted, excluded: uris(constraints?.excludedSubtrees) };
}

function bitsOf(flags: number): ReadonlySet<number> {
  return new Set([0, 1, 2, 3, 4, 5, 6, 7, 8].filter((bit) => (flags & (1 << bit)) !== 0));
}

/** Sorts general names into those we know as text and the rest (directory names, registered IDs, ...). */
export function altNamesOf(names: readonly GeneralName[]): {
  readonly known: readonly SubjectAltName[];
  readonly hasOther: boolean;
} {
  const known = names.flatMap((name): readonly SubjectAltName[] => {
    if (name.uniformResourceIdentifier !== undefined) return [{ type: 'uri', value: name.uniformResourceIdentifier }];
    if (name.dNSName !== undefined) return [{ type: 'dns', value: name.dNSName }];
    if (name.iPAddress !== undefined) return [{ type: 'ip', value: name.iPAddress }];
    if (name.rfc822Name !== undefined) return [{ type: 'email', value: name.rfc822Name }];
    return [];
  });
  return { known, hasOther: known.length !== names.length };
}

function bad(message: string): Parsed<never> {
  return { ok: false, problems: [{ path: '', message }] };
}
