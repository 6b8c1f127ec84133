import { printYaml } from '../../model/parse/yaml.ts';
import { printTable } from '../../proxy-dump/table.ts';
import { formatAge } from '../age.ts';
import { type ProxySync, TYPE_COLUMNS, type TypeSync } from '../discovery/sync-status.ts';

/** The proxies for people, with the reason of each rejection below, or for programs. */
export function printProxies(proxies: readonly ProxySync[], output: 'table' | 'json' | 'yaml', now: Date): string {
  switch (output) {
    case 'json':
      return `${JSON.stringify(proxies, null, 2)}\n`;
    case 'yaml':
      return printYaml(proxies);
    case 'table':
      return printRows(proxies, now);
  }
}

function printRows(proxies: readonly ProxySync[], now: Date): string {
  if (proxies.length === 0) return 'No proxies are connected.\n';
  const header = ['PROXY', ...TYPE_COLUMNS.map((column) => column.toUpperCase()), 'PILOT', 'VERSION'];
  const rows = proxies.map((proxy) => [
    nameOf(proxy),
    ...TYPE_COLUMNS.map((column) => cell(proxy.types[column], now)),
    proxy.pilot,
    proxy.version,
  ]);
  const reasons = proxies.flatMap((proxy) =>
    TYPE_COLUMNS.flatMap((column) => {
      const sync = proxy.types[column];
      return sync.status === 'REJECTED'
        ? [[`${nameOf(proxy)} ${column.toUpperCase()}: ${sync.reason.replace(/\s+/g, ' ')}`]]
        : [];
    }),
  );
  return `${printTable([header, ...rows])}${reasons.length === 0 ? '' : `\n${printTable(reasons)}`}`;
}

const nameOf = ({ name, namespace, id }: ProxySync): string => (namespace === '' ? name || id : `${name}.${namespace}`);

function cell(sync: TypeSync, now: Date): string {
  return sync.status === 'STALE' && sync.since !== '' ? `STALE (${formatAge(sync.since, now)})` : sync.status;
}
