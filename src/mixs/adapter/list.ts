import ipaddr from 'ipaddr.js';
import { RE2JS } from 're2js';
import { MeshError } from '../../lib/errors.ts';
import { type EntryType, entryProblem } from '../../rules/adapter/listchecker.ts';

export interface List {
  has(value: string): boolean;
}

/**
 * A list of entries of a type. Strings are found in constant time; addresses and regular expressions are tried one after the other.
 *
 * @throws MeshError `invalid` for an entry that is none of the type
 */
export function buildList(type: EntryType, entries: readonly string[]): List {
  for (const entry of entries) {
    const problem = entryProblem(type, entry);
    if (problem !== undefined) throw new MeshError('invalid', problem);
  }
  switch (type) {
    case 'STRINGS':
      return new Set(entries);
    case 'CASE_INSENSITIVE_STRINGS': {
      const folded = new Set(entries.map(fold));
      return { has: (value) => folded.has(fold(value)) };
    }
    case 'IP_ADDRESSES':
      return addressList(entries);
    case 'REGEX': {
      const patterns = entries.map((entry) => RE2JS.compile(entry));
      return { has: (value) => patterns.some((pattern) => pattern.matcher(value).find()) };
    }
  }
}

const fold = (text: string): string => text.toLowerCase();

function addressList(entries: readonly string[]): List {
  const ranges = entries.map((entry): [ipaddr.IPv4 | ipaddr.IPv6, number] => {
    if (entry.includes('/')) return ipaddr.parseCIDR(entry);
    const address = ipaddr.process(entry);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  });
  return {
    has: (value) => {
      if (!ipaddr.isValid(value)) return false;
      const address = ipaddr.process(value);
      return ranges.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits));
    },
  };
}
