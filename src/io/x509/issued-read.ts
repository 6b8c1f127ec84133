/** Reads back a certificate of ours (RFC 5280), strictly, so that it can be compared with what was meant. Shares nothing with the code that wrote it. */
import { constructed, DerError, DerReader, dottedIdentifier, primitive, READ_TAG } from './der-read.ts';
import { type GeneralNames, readGeneralNames } from './general-names.ts';
import { OID } from './oids.ts';

export interface IssuedContent {
  /** What is signed. */
  readonly tbs: Uint8Array;
  readonly serial: Uint8Array;
  readonly issuerDer: Uint8Array;
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** Attributes in order, `2.5.4.10=mesh`. */
  readonly subject: readonly string[];
  readonly spki: Uint8Array;
  readonly extensions: ReadonlyMap<string, IssuedExtension>;
  /** Dotted; the same inside and outside of what is signed. */
  readonly algorithm: string;
  readonly signature: Uint8Array;
}

export interface IssuedExtension {
  readonly critical: boolean;
  readonly value: Uint8Array;
}

/** Throws DerError for what is no such certificate. */
export function readIssued(der: Uint8Array): IssuedContent {
  const outer = new DerReader(der);
  const certificate = outer.enter(READ_TAG.sequence);
  outer.finish();
  const tbs = certificate.element(READ_TAG.sequence);
  const algorithm = readAlgorithm(certificate);
  const signature = certificate.wholeBytes();
  certificate.finish();
  const fields = new DerReader(tbs).enter(READ_TAG.sequence);
  const version = fields.enter(constructed(0));
  if (version.smallInteger() !== 2) throw new DerError('the version is not 3');
  version.finish();
  const serial = fields.unsignedInteger();
  if (readAlgorithm(fields) !== algorithm) throw new DerError('there are two signature algorithms');
  const issuerDer = fields.element(READ_TAG.sequence);
  const validity = fields.enter(READ_TAG.sequence);
  const notBefore = readTime(validity);
  const notAfter = readTime(validity);
  validity.finish();
  const subject = readSubject(fields.enter(READ_TAG.sequence));
  const spki = fields.element(READ_TAG.sequence);
  const explicit = fields.enter(constructed(3));
  fields.finish();
  const extensions = readExtensions(explicit.enter(READ_TAG.sequence));
  explicit.finish();
  return { tbs, serial, issuerDer, notBefore, notAfter, subject, spki, extensions, algorithm, signature };
}

function readAlgorithm(reader: DerReader): string {
  const algorithm = reader.enter(READ_TAG.sequence);
  const identifier = dottedIdentifier(algorithm.content(READ_TAG.objectIdentifier));
  if (!algorithm.isAtEnd) algorithm.content(READ_TAG.nothing);
  algorithm.finish();
  return identifier;
}

function readTime(reader: DerReader): Date {
  const isShort = reader.nextTag === READ_TAG.utcTime;
  const text = Buffer.from(reader.content(isShort ? READ_TAG.utcTime : READ_TAG.generalizedTime)).toString('latin1');
  const full = isShort ? `${Number(text.slice(0, 2)) < 50 ? '20' : '19'}${text}` : text;
  if (!/^\d{14}Z$/.test(full)) throw new DerError('a time is not in the form of RFC 5280');
  const at = (from: number, to: number): number => Number(full.slice(from, to));
  return new Date(Date.UTC(at(0, 4), at(4, 6) - 1, at(6, 8), at(8, 10), at(10, 12), at(12, 14)));
}

function readSubject(name: DerReader): readonly string[] {
  const parts: string[] = [];
  while (!name.isAtEnd) {
    const relative = name.enter(READ_TAG.set);
    const attribute = relative.enter(READ_TAG.sequence);
    relative.finish();
    const type = dottedIdentifier(attribute.content(READ_TAG.objectIdentifier));
    parts.push(`${type}=${Buffer.from(attribute.content(READ_TAG.utf8String)).toString('utf8')}`);
    attribute.finish();
  }
  return parts;
}

function readExtensions(list: DerReader): ReadonlyMap<string, IssuedExtension> {
  const extensions = new Map<string, IssuedExtension>();
  while (!list.isAtEnd) {
    const extension = list.enter(READ_TAG.sequence);
    const oid = dottedIdentifier(extension.content(READ_TAG.objectIdentifier));
    const critical = extension.nextTag === READ_TAG.boolean && extension.boolean();
    if (extensions.has(oid)) throw new DerError('an extension appears twice');
    extensions.set(oid, { critical, value: extension.content(READ_TAG.octetString) });
    extension.finish();
  }
  return extensions;
}

/** Numbers of the bits that are set, in order. */
export function readNamedBits(value: Uint8Array): readonly number[] {
  const [unused = 0, ...bytes] = only(value, READ_TAG.bitString);
  if (unused > 7) throw new DerError('a bit string has no such unused bits');
  return bytes.flatMap((byte, index) =>
    [0, 1, 2, 3, 4, 5, 6, 7].filter((bit) => (byte & (0x80 >> bit)) !== 0).map((bit) => index * 8 + bit),
  );
}

export function readBasicConstraints(value: Uint8Array): { readonly isCa: boolean; readonly pathLength: number | undefined } {
  const reader = new DerReader(only(value, READ_TAG.sequence));
  const isCa = reader.nextTag === READ_TAG.boolean && reader.boolean();
  const pathLength = reader.isAtEnd ? undefined : reader.smallInteger();
  reader.finish();
  return { isCa, pathLength };
}

/** Dotted identifiers of an ExtKeyUsageSyntax. */
export function readPurposes(value: Uint8Array): readonly string[] {
  const reader = new DerReader(only(value, READ_TAG.sequence));
  const purposes: string[] = [];
  while (!reader.isAtEnd) purposes.push(dottedIdentifier(reader.content(READ_TAG.objectIdentifier)));
  return purposes;
}

export function readSubjectKeyId(value: Uint8Array): Uint8Array {
  return only(value, READ_TAG.octetString);
}

/** The key identifier of an AuthorityKeyIdentifier that has nothing else. */
export function readAuthorityKeyId(value: Uint8Array): Uint8Array {
  return only(only(value, READ_TAG.sequence), primitive(0));
}

export function readAltNames(value: Uint8Array): GeneralNames {
  return readGeneralNames(new DerReader(value));
}

/** The host of the URI subtree of NameConstraints that permit that one and exclude nothing. */
export function readPermittedUriHost(value: Uint8Array): string {
  const permitted = only(only(value, READ_TAG.sequence), constructed(0));
  return Buffer.from(only(only(permitted, READ_TAG.sequence), primitive(6))).toString('latin1');
}

/** The content of the one element that there is. */
function only(value: Uint8Array, tag: number): Uint8Array {
  const reader = new DerReader(value);
  const content = reader.content(tag);
  reader.finish();
  return content;
}

/** What an extension says by its identifier; undefined where it is missing. */
export function extensionValue(content: IssuedContent, name: keyof typeof OID): Uint8Array | undefined {
  return content.extensions.get(OID[name])?.value;
}
