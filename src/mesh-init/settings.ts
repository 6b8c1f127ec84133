import ipaddr from 'ipaddr.js';
import type { OptionsOf } from '../flags/table.ts';
import type { Parsed, Problem } from '../lib/errors.ts';
import type { initFlags } from './flags.ts';

/** An address range of one family, in the form iptables prints it. */
export interface Cidr {
  readonly family: 'ipv4' | 'ipv6';
  readonly text: string;
}

/** Everything, or what is listed (which may be nothing). */
export type Selection<T> = { readonly all: true } | { readonly all: false; readonly only: readonly T[] };

/** How the proxy's own connections are told from the application's. */
export type ProxyMatch =
  | { readonly by: 'owner'; readonly uid: number; readonly gid: number }
  | { readonly by: 'mark'; readonly mark: number };

/** What is redirected in the network namespace of a pod. */
export interface RedirectionSettings {
  readonly outboundPort: number;
  readonly inboundPort: number;
  readonly proxy: ProxyMatch;
  readonly inboundPorts: Selection<number>;
  readonly excludedInboundPorts: readonly number[];
  readonly outboundRanges: Selection<Cidr>;
  readonly excludedOutboundRanges: readonly Cidr[];
  /** Ports redirected whatever the address. */
  readonly outboundPorts: readonly number[];
  readonly excludedOutboundPorts: readonly number[];
}

/** Served by the agent and by the proxy themselves: never captured. */
export const AGENT_PORTS: readonly number[] = [15020, 15090];

/** Reads the options; every problem names the flag (as path) and the value. */
export function parseSettings(options: OptionsOf<typeof initFlags>): Parsed<RedirectionSettings> {
  const problems: Problem[] = [];
  const read = new Reader(problems);
  const mark = options['proxy-mark'];
  const settings: RedirectionSettings = {
    outboundPort: read.port('--proxy-port', String(options['proxy-port'])),
    inboundPort: read.port('--inbound-capture-port', String(options['inbound-capture-port'])),
    proxy:
      mark === 0
        ? {
            by: 'owner',
            uid: options['proxy-uid'],
            gid: options['proxy-gid'],
          }
        : { by: 'mark', mark },
    inboundPorts: read.selection('--inbound-ports', options['inbound-ports'], read.port),
    excludedInboundPorts: read.list('--exclude-inbound-ports', options['exclude-inbound-ports'], read.port),
    outboundRanges: read.selection('--include-outbound-ranges', options['include-outbound-ranges'], read.cidr),
    excludedOutboundRanges: read.list('--exclude-outbound-ranges', options['exclude-outbound-ranges'], read.cidr),
    outboundPorts: read.list('--include-outbound-ports', options['include-outbound-ports'], read.port),
    excludedOutboundPorts: read.list('--exclude-outbound-ports', options['exclude-outbound-ports'], read.port),
  };
  if (problems.length === 0 && settings.inboundPort === settings.outboundPort) {
    problems.push({
      path: '--inbound-capture-port',
      message: `${settings.inboundPort} is the --proxy-port too; inbound and outbound need a port each`,
    });
  }
  return problems.length === 0 ? { ok: true, value: settings } : { ok: false, problems };
}

/** Reads the texts of flags, collecting what is wrong instead of stopping at it. */
class Reader {
  readonly #problems: Problem[];

  constructor(problems: Problem[]) {
    this.#problems = problems;
  }

  readonly port = (flag: string, text: string): number => {
    const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0;
    if (port < 1 || port > 65_535) this.#problems.push({ path: flag, message: `"${text}" is not a port (1 to 65535)` });
    return port;
  };

  readonly cidr = (flag: string, text: string): Cidr => {
    const range = parseCidr(text);
    if (range !== undefined) return range;
    this.#problems.push({ path: flag, message: `"${text}" is not an address range such as 10.0.0.0/8 or fd00::/8` });
    return { family: 'ipv4', text };
  };

  list<T>(flag: string, texts: readonly string[], item: (flag: string, text: string) => T): T[] {
    return trimmed(texts).map((text) => item(flag, text));
  }

  selection<T>(flag: string, texts: readonly string[], item: (flag: string, text: string) => T): Selection<T> {
    const values = trimmed(texts);
    if (values.length === 1 && values[0] === '*') return { all: true };
    if (values.includes('*')) {
      this.#problems.push({ path: flag, message: `"${values.join(',')}" mixes "*" with other values; give one or the other` });
      return { all: true };
    }
    return { all: false, only: values.map((text) => item(flag, text)) };
  }
}

const trimmed = (texts: readonly string[]): string[] => texts.map((text) => text.trim()).filter((text) => text !== '');

/** `10.1.2.3/8` is `10.0.0.0/8`; an address alone is the range of itself; an IPv4-mapped IPv6 address is refused. */
export function parseCidr(text: string): Cidr | undefined {
  const [address = '', length, ...rest] = text.split('/');
  if (rest.length > 0 || (length !== undefined && !/^[0-9]{1,3}$/.test(length))) return undefined;
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) {
    const bits = Number(length ?? 32);
    if (bits > 32) return undefined;
    return { family: 'ipv4', text: `${ipaddr.IPv4.networkAddressFromCIDR(`${address}/${bits}`)}/${bits}` };
  }
  if (!ipaddr.IPv6.isValid(address) || address.includes('%')) return undefined;
  const bits = Number(length ?? 128);
  if (bits > 128 || ipaddr.IPv6.parse(address).isIPv4MappedAddress()) return undefined;
  return { family: 'ipv6', text: `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/${bits}`).toRFC5952String()}/${bits}` };
}
