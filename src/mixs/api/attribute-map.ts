import ipaddr from 'ipaddr.js';
import type { Address } from '#gen/envoy/config/core/v3/address.ts';
import { parseSpiffeId } from '../../lib/spiffe.ts';
import type { StringMap, Value, ValueType } from '../../rules/attribute/value.ts';

const NANOS_PER_MS = 1_000_000n;
const NANOS = 1_000_000_000n;
const SPIFFE = 'spiffe://';

/** Collects the attributes of one request by name. What is empty or unknown is left out: an attribute is there or it is not. */
export class AttributeMap {
  readonly values = new Map<string, Value>();

  text(name: string, value: string | undefined): void {
    if (value !== undefined && value !== '') this.values.set(name, value);
  }

  flag(name: string, value: boolean): void {
    this.values.set(name, value);
  }

  /** A whole number of 0 or more; Envoy says -1 where it does not know. */
  count(name: string, value: number | undefined): void {
    if (value !== undefined && Number.isSafeInteger(value) && value >= 0) this.values.set(name, BigInt(value));
  }

  time(name: string, value: Date | undefined): void {
    if (value !== undefined && !Number.isNaN(value.getTime())) this.values.set(name, BigInt(value.getTime()) * NANOS_PER_MS);
  }

  /** google.protobuf.Duration. */
  span(name: string, value: { readonly seconds: number; readonly nanos: number } | undefined): void {
    if (value !== undefined) this.values.set(name, BigInt(value.seconds) * NANOS + BigInt(value.nanos));
  }

  map(name: string, value: StringMap): void {
    if (value.size > 0) this.values.set(name, value);
  }

  /** A text as the value of an attribute of a type; false, and nothing is added, for a type that texts are not read as, or a text that is none. */
  parsed(name: string, type: ValueType | undefined, text: string): boolean {
    const value = type === undefined ? undefined : parseAs(type, text);
    if (value !== undefined) this.values.set(name, value);
    return value !== undefined;
  }

  /** Address and port of one end. */
  address(end: 'source' | 'destination', address: Address | undefined): void {
    if (address?.address?.$case !== 'socketAddress') return;
    const { address: text, portSpecifier } = address.address.socketAddress;
    const canonical = canonicalAddress(text);
    if (canonical !== undefined) this.values.set(`${end}.ip`, canonical);
    if (portSpecifier?.$case === 'portValue') this.count(`${end}.port`, portSpecifier.portValue);
  }

  /** Who one end has proved to be; of the identities of the mesh, namespace and service account too. */
  principal(end: 'source' | 'destination', uri: string | undefined): void {
    if (uri === undefined || uri === '') return;
    const principal = uri.startsWith(SPIFFE) ? uri.slice(SPIFFE.length) : uri;
    this.text(`${end}.principal`, principal);
    this.text(`${end}.user`, principal);
    const identity = parseSpiffeId(uri);
    if (!identity.ok) return;
    this.text(`${end}.namespace`, identity.value.namespace);
    this.text(`${end}.serviceAccount`, identity.value.serviceAccount);
  }
}

/** As values of IP_ADDRESS are: RFC 5952, an IPv4 address in IPv6 form as IPv4. `undefined` for what is none. */
function canonicalAddress(text: string): string | undefined {
  if (!ipaddr.isValid(text)) return undefined;
  const address = ipaddr.process(text);
  return address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString();
}

function parseAs(type: ValueType, text: string): Value | undefined {
  switch (type) {
    case 'STRING':
    case 'DNS_NAME':
    case 'EMAIL_ADDRESS':
    case 'URI':
      return text;
    case 'INT64':
      return /^-?\d{1,18}$/.test(text) ? BigInt(text) : undefined;
    case 'BOOL':
      return text === 'true' || text === 'false' ? text === 'true' : undefined;
    case 'IP_ADDRESS':
      return canonicalAddress(text);
    case 'DOUBLE':
    case 'DURATION':
    case 'TIMESTAMP':
    case 'STRING_MAP':
      return undefined;
  }
}
