import type { Fields } from '../../model/parse/fields.ts';

export interface HostPort {
  /** A name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
}

const HOST_AND_PORT = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]]+)):([0-9]{1,5})$/;

/** Reads `host:port`, the default where there is none. */
export function readHostPort(fields: Fields, field: string, byDefault: string): HostPort {
  const address = fields.text(field) || byDefault;
  const [, v6, host, port] = HOST_AND_PORT.exec(address) ?? [];
  if (port === undefined || Number(port) < 1 || Number(port) > 65_535) fields.refuse(field, `"${address}" is no host:port`);
  return { host: v6 ?? host ?? '', port: Number(port) };
}
