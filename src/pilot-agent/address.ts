import { isIP } from 'node:net';

export interface Address {
  /** A name or an IP address, without brackets. */
  readonly host: string;
  readonly port: number;
}

/** `host:port`, `1.2.3.4:port` or `[v6]:port`. */
export function parseAddress(text: string): Address | undefined {
  const [, bracketed, name, digits = ''] = /^(?:\[([^\]]+)\]|([^:[\]\s/]+)):([0-9]{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === '' || port < 1 || port > 65_535) return undefined;
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? { host: bracketed, port } : undefined;
  const host = name ?? '';
  const isName = /^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9.])?$/.test(host);
  const looksNumeric = /^[0-9.]+$/.test(host);
  return isIP(host) === 4 || (isName && !looksNumeric) ? { host, port } : undefined;
}

/** The address as one text, IPv6 in brackets. */
export function printAddress(address: Address): string {
  return `${isIP(address.host) === 6 ? `[${address.host}]` : address.host}:${address.port}`;
}
