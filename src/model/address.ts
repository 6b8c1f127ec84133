import ipaddr from 'ipaddr.js';

export type AddressFamily = 'ipv4' | 'ipv6';

/** The family of an IP address as Envoy reads them (no zone, no short forms of IPv4); `undefined` if it is none. */
export function familyOf(address: string): AddressFamily | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return 'ipv4';
  return address.includes(':') && !address.includes('%') && ipaddr.IPv6.isValid(address) ? 'ipv6' : undefined;
}
