/**
 * The text for iptables-restore. The design is the one sidecars commonly use: the nat table sends inbound connections
 * from PREROUTING to the inbound port and the application's connections from OUTPUT to the outbound port, while whatever
 * the proxy itself opens goes its way. iptables-restore applies the text as one transaction, so there is no moment
 * between the old rules and the new ones.
 */
import { AGENT_PORTS, type ProxyMatch, type RedirectionSettings, type Selection } from './settings.ts';

export type Family = 'ipv4' | 'ipv6';

const CHAINS = ['MESH_INBOUND', 'MESH_IN_REDIRECT', 'MESH_OUTPUT', 'MESH_REDIRECT'] as const;
const JUMPS = ['-A PREROUTING -p tcp -j MESH_INBOUND', '-A OUTPUT -p tcp -j MESH_OUTPUT'] as const;

/** The proxy passes inbound requests on from this address, which tells them from the application's own. */
export const INBOUND_SOURCE: Readonly<Record<Family, string>> = { ipv4: '127.0.0.6/32', ipv6: '::6/128' };
const LOCALHOST: Readonly<Record<Family, string>> = { ipv4: '127.0.0.1/32', ipv6: '::1/128' };

/** What `iptables-save -t nat` tells of us. */
export interface SavedRules {
  /** Our chains that exist. */
  readonly chains: readonly string[];
  /** Rules of foreign chains that jump into ours, as printed, `-A` and all. */
  readonly jumps: readonly string[];
}

export function findOwnRules(saved: string): SavedRules {
  const lines = saved.split('\n').map((line) => line.trim());
  const isOurs = (name: string | undefined) => CHAINS.some((chain) => chain === name);
  return {
    chains: lines.map((line) => /^:(\S+) /.exec(line)?.[1]).filter((name) => name !== undefined && isOurs(name)) as string[],
    jumps: lines.filter((line) => {
      const rule = /^-A (\S+) .*?-[jg] (\S+)$/.exec(line);
      return rule !== null && isOurs(rule[2]) && !isOurs(rule[1]);
    }),
  };
}

/** Replaces whatever was found of ours by the redirection that the settings ask for. */
export function redirectionRules(settings: RedirectionSettings, family: Family, found: SavedRules): string {
  return table([
    ...CHAINS.map((chain) => `:${chain} - [0:0]`),
    ...found.jumps.map(deletion),
    ...JUMPS,
    `-A MESH_REDIRECT -p tcp -j REDIRECT --to-ports ${settings.outboundPort}`,
    `-A MESH_IN_REDIRECT -p tcp -j REDIRECT --to-ports ${settings.inboundPort}`,
    ...inbound(settings).map((rule) => `-A MESH_INBOUND ${rule}`),
    ...outbound(settings, family).map((rule) => `-A MESH_OUTPUT ${rule}`),
  ]);
}

/** Removes what was found of ours; undefined when there is nothing. */
export function removalRules(found: SavedRules): string | undefined {
  if (found.chains.length === 0 && found.jumps.length === 0) return undefined;
  return table([
    // Declaring a chain empties it, and only a chain that nothing refers to can be deleted.
    ...found.chains.map((chain) => `:${chain} - [0:0]`),
    ...found.jumps.map(deletion),
    ...found.chains.map((chain) => `-X ${chain}`),
  ]);
}

function inbound(settings: RedirectionSettings): string[] {
  const captured: Selection<number> = settings.inboundPorts;
  if (!captured.all) return distinct(captured.only).map((port) => `-p tcp --dport ${port} -j MESH_IN_REDIRECT`);
  const excluded = distinct([...AGENT_PORTS, ...settings.excludedInboundPorts]);
  return [...excluded.map((port) => `-p tcp --dport ${port} -j RETURN`), '-p tcp -j MESH_IN_REDIRECT'];
}

function outbound(settings: RedirectionSettings, family: Family): string[] {
  const ofFamily = (ranges: readonly { family: Family; text: string }[]) =>
    distinct(ranges.filter((range) => range.family === family).map((range) => range.text));
  const proxy = proxyMatches(settings.proxy);
  const included = settings.outboundRanges;
  return [
    `-s ${INBOUND_SOURCE[family]} -o lo -j RETURN`,
    // The proxy chose this very pod as the server of a service: that connection must pass the inbound side.
    ...proxy.map((match) => `! -d ${LOCALHOST[family]} -o lo ${match} -j MESH_INBOUND`),
    '-o lo -j RETURN',
    ...proxy.map((match) => `${match} -j RETURN`),
    ...distinct(settings.excludedOutboundPorts).map((port) => `-p tcp --dport ${port} -j RETURN`),
    ...ofFamily(settings.excludedOutboundRanges).map((range) => `-d ${range} -j RETURN`),
    ...distinct(settings.outboundPorts).map((port) => `-p tcp --dport ${port} -j MESH_REDIRECT`),
    ...(included.all ? ['-j MESH_REDIRECT'] : ofFamily(included.only).map((range) => `-d ${range} -j MESH_REDIRECT`)),
  ];
}

function proxyMatches(proxy: ProxyMatch): string[] {
  switch (proxy.by) {
    case 'owner':
      return [`-m owner --uid-owner ${proxy.uid}`, `-m owner --gid-owner ${proxy.gid}`];
    case 'mark':
      return [`-m mark --mark ${proxy.mark}`];
  }
}

const deletion = (rule: string): string => rule.replace(/^-A /, '-D ');
const distinct = <T>(values: readonly T[]): T[] => [...new Set(values)];
const table = (lines: readonly string[]): string => `${['*nat', ...lines, 'COMMIT'].join('\n')}\n`;
