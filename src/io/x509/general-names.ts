/** Reads GeneralNames (RFC 5280, 4.2.1.6). */
import { isAscii } from 'node:buffer';
import ipaddr from 'ipaddr.js';
import { constructed, DerError, type DerReader, primitive, READ_TAG } from './der-read.ts';
import type { SubjectAltName } from './names.ts';

export interface GeneralNames {
  readonly known: readonly SubjectAltName[];
  /** Whether there are names of kinds that `known` has no place for (directory names, registered IDs, ...). */
  readonly hasOther: boolean;
}

const TEXTS: ReadonlyMap<number, 'email' | 'dns' | 'uri'> = new Map([
  [primitive(1), 'email'],
  [primitive(2), 'dns'],
  [primitive(6), 'uri'],
]);
const ADDRESS = primitive(7);
/** otherName, x400Address, directoryName, ediPartyName, registeredID. */
const OTHERS: ReadonlySet<number> = new Set([...[0, 3, 4, 5].map(constructed), primitive(8)]);

/** Reads the SEQUENCE of names that is all there is; throws DerError. */
export function readGeneralNames(outer: DerReader): GeneralNames {
  const names = outer.enter(READ_TAG.sequence);
  outer.finish();
  if (names.isAtEnd) throw new DerError('the list of names is empty');
  const known: SubjectAltName[] = [];
  let hasOther = false;
  for (let tag = names.nextTag; tag !== undefined; tag = names.nextTag) {
    const type = TEXTS.get(tag);
    if (type !== undefined) known.push({ type, value: ascii(names.content(tag)) });
    else if (tag === ADDRESS) known.push({ type: 'ip', value: address(names.content(tag)) });
    else if (OTHERS.has(tag)) {
      names.skip();
      hasOther = true;
    } else throw new DerError(`${tag} is no kind of name`);
  }
  return { known, hasOther };
}

function ascii(bytes: Uint8Array): string {
  if (!isAscii(bytes)) throw new DerError('a name has bytes that are not ASCII');
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

function address(bytes: Uint8Array): string {
  if (bytes.length !== 4 && bytes.length !== 16) throw new DerError('an address has neither 4 nor 16 bytes');
  return ipaddr.fromByteArray([...bytes]).toString();
}
