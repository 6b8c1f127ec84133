/** Who a certificate speaks of: subject (RFC 5280, 4.1.2.6) and subject alternative names (4.2.1.6), encoded. */
import ipaddr from 'ipaddr.js';
import { MeshError } from '../../lib/errors.ts';
import { type Der, implicit, objectIdentifier, sequence, setOf, utf8String } from './der.ts';
import { OID } from './oids.ts';

export interface SubjectName {
  readonly organization?: string | undefined;
  readonly commonName?: string | undefined;
  /** A whole Name, as another certificate has it, in place of the other parts. */
  readonly der?: Uint8Array | undefined;
}

export interface SubjectAltName {
  readonly type: 'uri' | 'dns' | 'ip' | 'email';
  readonly value: string;
}

/** Tags of the choices of GeneralName. */
const TAGS = { email: 1, dns: 2, uri: 6, ip: 7 } as const;

/** Tag and length of a SEQUENCE without content. */
const EMPTY_LENGTH = 2;

/** IA5String without control characters: what may stand in a name that others compare as text. */
const PRINTABLE_ASCII = /^[\x21-\x7e]+$/;

function attribute(oid: string, value: string): Der {
  return setOf(sequence(objectIdentifier(oid), utf8String(value)));
}

/** A Name; empty when there is neither part. */
export function encodeSubject(subject: SubjectName): Der {
  if (subject.der !== undefined) return subject.der;
  const parts: Der[] = [];
  if (subject.organization !== undefined && subject.organization !== '') {
    parts.push(attribute(OID.organization, subject.organization));
  }
  if (subject.commonName !== undefined && subject.commonName !== '') {
    parts.push(attribute(OID.commonName, subject.commonName));
  }
  return sequence(...parts);
}

export function isEmptySubject(subject: SubjectName): boolean {
  const { organization = '', commonName = '', der } = subject;
  return der === undefined ? organization === '' && commonName === '' : der.length <= EMPTY_LENGTH;
}

/** GeneralNames; throws `invalid` for a name that IA5String cannot hold or that is no address. */
export function encodeAltNames(names: readonly SubjectAltName[]): Der {
  return sequence(...names.map((name) => implicit(TAGS[name.type], nameBytes(name))));
}

function nameBytes(name: SubjectAltName): Uint8Array {
  if (name.type === 'ip') {
    if (!ipaddr.isValid(name.value)) throw new MeshError('invalid', `"${name.value}" is not an IP address`);
    return Uint8Array.from(ipaddr.parse(name.value).toByteArray());
  }
  if (!PRINTABLE_ASCII.test(name.value)) {
    throw new MeshError(
      'invalid',
      `the ${name.type} name ${JSON.stringify(name.value)} has characters a certificate cannot hold`,
    );
  }
  return Buffer.from(name.value, 'latin1');
}
