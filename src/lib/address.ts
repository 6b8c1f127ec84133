import type { Parsed } from './errors.ts';

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** The wildcard of both address families; what an empty host listens on. */
export const ANY_HOST = '::';

const FORM = /^(?:\[(?<v6>[0-9a-fA-F:.%]+)\]|(?<host>[^:[\]]*)):(?<port>\d{1,5})$/;

/** Parses `host:port`, `[v6]:port` or `:port` (every address), as Go's net.Listen takes it. */
export function parseListenAddress(text: string): Parsed<HostPort> {
  const match = FORM.exec(text)?.groups;
  const port = Number(match?.['port']);
  if (match === undefined || port > 65_535) {
    return {
      ok: false,
      problems: [{ path: '', message: `"${text}" is not an address such as :15010, 127.0.0.1:15010 or [::1]:15010` }],
    };
  }
  return { ok: true, value: { host: match['v6'] || match['host'] || ANY_HOST, port } };
}

/** Whether a peer is on this host. Not all of 127.0.0.0/8: what comes from outside a pod through its proxy comes from 127.0.0.6. */
export function isLoopback(address: string): boolean {
  return ['127.0.0.1', '::ffff:127.0.0.1', '::1'].includes(address);
}
