/** Reads certificate signing requests (PKCS#10, RFC 2986) of strangers: bounded, strict, and with proof that the sender has the private key. */
import { isAscii, isUtf8 } from 'node:buffer';
import type { KeyObject } from 'node:crypto';
import type { Parsed } from '../../lib/errors.ts';
import { objectIdentifier } from './der.ts';
import { constructed, DerError, DerReader, dottedIdentifier, READ_TAG, sameBytes } from './der-read.ts';
import { type GeneralNames, readGeneralNames } from './general-names.ts';
import type { SubjectAltName } from './names.ts';
import { OID } from './oids.ts';
import { decodePem } from './pem.ts';
import { readPublicKey } from './public-key-read.ts';
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
const MAX_ATTRIBUTES = 64;
const LABELS: ReadonlySet<string> = new Set(['CERTIFICATE REQUEST', 'NEW CERTIFICATE REQUEST']);

const COMMON_NAME = objectIdentifier(OID.commonName);
const EXTENSION_REQUEST = objectIdentifier(OID.extensionRequest);
const SUBJECT_ALT_NAME = objectIdentifier(OID.subjectAltName);
const BASIC_CONSTRAINTS = objectIdentifier(OID.basicConstraints);

export function parseCsr(request: string | Uint8Array): Parsed<Csr> {
  const der = typeof request === 'string' ? derOf(request) : within(request);
  if (!der.ok) return der;
  let read: Reading;
  try {
    read = readRequest(der.value);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return bad('the certificate signing request is malformed: it is not PKCS#10 (RFC 2986) in DER');
  }
  const { known, hasOther } = read.names;
  if (known.length > MAX_NAMES) return bad(`the request asks for ${known.length} names; at most ${MAX_NAMES} are read`);
  const key = provenKey(read);
  if (!key.ok) return key;
  const { commonNames, asksForCa } = read;
  return { ok: true, value: { publicKey: key.value, names: known, hasOtherNames: hasOther, commonNames, asksForCa } };
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

interface Wishes {
  readonly names: GeneralNames;
  readonly asksForCa: boolean;
}

interface Reading extends Wishes {
  /** What is signed. */
  readonly info: Uint8Array;
  readonly spki: Uint8Array;
  readonly commonNames: readonly string[];
  /** Dotted. */
  readonly algorithm: string;
  readonly signature: Uint8Array;
}

const NO_WISHES: Wishes = { names: { known: [], hasOther: false }, asksForCa: false };

/** CertificationRequest; throws DerError. */
function readRequest(der: Uint8Array): Reading {
  const outer = new DerReader(der);
  const request = outer.enter(READ_TAG.sequence);
  outer.finish();
  const info = request.element(READ_TAG.sequence);
  const algorithm = readAlgorithm(request.enter(READ_TAG.sequence));
  const signature = request.wholeBytes();
  request.finish();
  const fields = new DerReader(info).enter(READ_TAG.sequence);
  if (fields.smallInteger() !== 0) throw new DerError('the version is not 1');
  const commonNames = readCommonNames(fields.enter(READ_TAG.sequence));
  const spki = fields.element(READ_TAG.sequence);
  // Some senders leave out the attributes, which the standard does not allow, when they have none.
  const wishes = fields.isAtEnd ? NO_WISHES : readAttributes(fields.enter(constructed(0)));
  fields.finish();
  return { info, spki, commonNames, algorithm, signature, ...wishes };
}

/** The identifier of an AlgorithmIdentifier; none of the algorithms that verifyDer takes has parameters that mean anything. */
function readAlgorithm(algorithm: DerReader): string {
  const identifier = dottedIdentifier(algorithm.content(READ_TAG.objectIdentifier));
  if (!algorithm.isAtEnd) algorithm.skip();
  algorithm.finish();
  return identifier;
}

/** The common names of a Name; everything else in it is looked at for its form only. */
function readCommonNames(name: DerReader): readonly string[] {
  const found: string[] = [];
  let attributes = 0;
  while (!name.isAtEnd) {
    const relative = name.enter(READ_TAG.set);
    if (relative.isAtEnd) throw new DerError('a part of the subject is empty');
    while (!relative.isAtEnd) {
      if (++attributes > MAX_ATTRIBUTES) throw new DerError('the subject has too many parts');
      const attribute = relative.enter(READ_TAG.sequence);
      const type = attribute.element(READ_TAG.objectIdentifier);
      if (sameBytes(type, COMMON_NAME)) found.push(readDirectoryString(attribute));
      else attribute.skip();
      attribute.finish();
    }
  }
  return found;
}

function readDirectoryString(reader: DerReader): string {
  const tag = reader.nextTag ?? 0;
  const content = Buffer.from(reader.content(tag));
  switch (tag) {
    case READ_TAG.utf8String:
      if (!isUtf8(content)) throw new DerError('a text is not UTF-8');
      return content.toString('utf8');
    case READ_TAG.printableString:
    case READ_TAG.ia5String:
      if (!isAscii(content)) throw new DerError('a text is not ASCII');
      return content.toString('latin1');
    case READ_TAG.teletexString:
      return content.toString('latin1');
    case READ_TAG.bmpString:
      if (content.length % 2 !== 0) throw new DerError('half a character is missing');
      return content.swap16().toString('utf16le');
    default:
      throw new DerError(`${tag} is no kind of text`);
  }
}

/** What the extensionRequest attribute (RFC 2985, 5.4.2) asks for; other attributes are none of our business. */
function readAttributes(attributes: DerReader): Wishes {
  let wishes: Wishes | undefined;
  for (let count = 0; !attributes.isAtEnd; count += 1) {
    if (count === MAX_ATTRIBUTES) throw new DerError('the request has too many attributes');
    const attribute = attributes.enter(READ_TAG.sequence);
    const type = attribute.element(READ_TAG.objectIdentifier);
    const values = attribute.enter(READ_TAG.set);
    attribute.finish();
    if (!sameBytes(type, EXTENSION_REQUEST)) {
      while (!values.isAtEnd) values.skip();
      continue;
    }
    if (wishes !== undefined) throw new DerError('extensions are requested twice');
    wishes = readExtensions(values.enter(READ_TAG.sequence));
    values.finish();
  }
  return wishes ?? NO_WISHES;
}

/** Names and the wish to be an authority; other extensions are not granted, so they are not read. */
function readExtensions(extensions: DerReader): Wishes {
  let { names, asksForCa } = NO_WISHES;
  const seen = new Set<string>();
  while (!extensions.isAtEnd) {
    const extension = extensions.enter(READ_TAG.sequence);
    const type = extension.element(READ_TAG.objectIdentifier);
    if (extension.nextTag === READ_TAG.boolean) requireNoDefault(extension);
    const value = extension.content(READ_TAG.octetString);
    extension.finish();
    const key = Buffer.from(type).toString('latin1');
    if (seen.has(key) || seen.size === MAX_ATTRIBUTES) throw new DerError('an extension appears twice, or there are too many');
    seen.add(key);
    if (sameBytes(type, SUBJECT_ALT_NAME)) names = readGeneralNames(new DerReader(value));
    else if (sameBytes(type, BASIC_CONSTRAINTS)) asksForCa = readIsCa(new DerReader(value));
  }
  return { names, asksForCa };
}

/** A BOOLEAN DEFAULT FALSE stands in DER only when it is true. */
function requireNoDefault(reader: DerReader): void {
  if (!reader.boolean()) throw new DerError('a default value is encoded');
}

function readIsCa(outer: DerReader): boolean {
  const constraints = outer.enter(READ_TAG.sequence);
  outer.finish();
  const isCa = constraints.nextTag === READ_TAG.boolean;
  if (isCa) requireNoDefault(constraints);
  if (!constraints.isAtEnd) constraints.smallInteger();
  constraints.finish();
  return isCa;
}

/** The public key, if it is one we accept and the request is signed with its private key. */
function provenKey({ spki, info, algorithm, signature }: Reading): Parsed<KeyObject> {
  const key = readPublicKey(spki);
  if (!key.ok) return key;
  switch (verifyDer(algorithm, info, signature, key.value)) {
    case 'valid':
      return key;
    case 'invalid':
      return bad('the certificate signing request is not signed with the key it holds');
    case 'unknown':
      return bad(
        `the certificate signing request is signed with an unsupported algorithm (${algorithm}): use SHA-256 with ECDSA or RSA`,
      );
  }
}

function bad(message: string): Parsed<never> {
  return { ok: false, problems: [{ path: 'csr', message }] };
}
