import ipaddr from 'ipaddr.js';
import { parseDuration } from '../../lib/duration.ts';
import type { Value, ValueType } from '../attribute/value.ts';

/**
 * Text as a value of a type, in the form in which equal values are equal; `undefined` for text that is none. The types that text cannot
 * stand for are left out.
 */
export const FROM_TEXT = {
  STRING: (text) => text,
  DURATION: durationFrom,
  TIMESTAMP: timestampFrom,
  IP_ADDRESS: ipAddressFrom,
  DNS_NAME: dnsNameFrom,
  EMAIL_ADDRESS: emailAddressFrom,
  URI: uriFrom,
} as const satisfies Partial<Record<ValueType, (text: string) => Value | undefined>>;

export type TextualType = keyof typeof FROM_TEXT;

export const isTextual = (type: ValueType): type is TextualType => Object.hasOwn(FROM_TEXT, type);

/** What a good text of a type looks like, for messages. */
export const EXAMPLE_OF: Readonly<Record<TextualType, string>> = {
  STRING: 'text',
  DURATION: 'a duration such as "1.5s" or "10ms"',
  TIMESTAMP: 'a time such as "2018-06-01T12:00:00Z" (RFC 3339)',
  IP_ADDRESS: 'an IP address such as "10.0.0.1" or "2001:db8::1"',
  DNS_NAME: 'a DNS name such as "ratings.default.svc.cluster.local"',
  EMAIL_ADDRESS: 'an e-mail address such as "admin@example.com"',
  URI: 'a URI such as "https://example.com/path"',
};

const NANOS_PER_MS = 1_000_000n;

function durationFrom(text: string): bigint | undefined {
  const parsed = parseDuration(text);
  return parsed.ok ? BigInt(Math.round(parsed.value * 1e6)) : undefined;
}

const RFC3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/i;

function timestampFrom(text: string): bigint | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const ms = Date.parse(`${match[1]}${match[3]}`.toUpperCase());
  if (Number.isNaN(ms)) return undefined;
  return BigInt(ms) * NANOS_PER_MS + BigInt((match[2] ?? '').padEnd(9, '0'));
}

function ipAddressFrom(text: string): string | undefined {
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) return undefined;
  const address = ipaddr.process(text);
  return address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString();
}

const DNS_LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;

function dnsNameFrom(text: string): string | undefined {
  const name = asciiOf(text.replace(/\.$/, ''));
  const labels = name.split('.');
  if (labels[0] === '*') labels.shift();
  return name.length <= 253 && labels.length > 0 && labels.every((label) => DNS_LABEL.test(label)) ? name : undefined;
}

/** Lower case, and letters beyond ASCII in the form that DNS has for them (RFC 5891). */
function asciiOf(name: string): string {
  if (/^[\w.*-]*$/.test(name)) return name.toLowerCase();
  return URL.canParse(`http://${name}/`) ? new URL(`http://${name}/`).host : '';
}

function emailAddressFrom(text: string): string | undefined {
  const at = text.lastIndexOf('@');
  const domain = dnsNameFrom(text.slice(at + 1));
  const local = text.slice(0, at);
  return at < 1 || domain === undefined || /[\s<>()[\],;:\\]/.test(local) ? undefined : `${local}@${domain}`;
}

function uriFrom(text: string): string | undefined {
  return URL.canParse(text) ? new URL(text).href : undefined;
}
