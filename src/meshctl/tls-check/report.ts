import { printYaml } from '../../model/parse/yaml.ts';
import type { TransportCheck } from '../../policy/transport.ts';
import { printTable } from '../../proxy-dump/table.ts';

const HEADER = ['HOST:PORT', 'STATUS', 'SERVER', 'CLIENT', 'AUTHN-POLICY', 'DESTINATION-RULE'];

/** The rows for people, with the reason of each conflict below, or for programs. */
export function printChecks(checks: readonly TransportCheck[], output: 'table' | 'json' | 'yaml'): string {
  switch (output) {
    case 'json':
      return `${JSON.stringify(checks, null, 2)}\n`;
    case 'yaml':
      return printYaml(checks.map((check) => JSON.parse(JSON.stringify(check)) as unknown));
    case 'table':
      return printRows(checks);
  }
}

/** What callers send needs no object to say so, hence never a destination rule. */
function printRows(checks: readonly TransportCheck[]): string {
  if (checks.length === 0) return 'No services found.\n';
  const rows = checks.map(({ host, port, status, server, client, policy }) => [
    `${host}:${port}`,
    status,
    server,
    client,
    policy,
    '-',
  ]);
  const reasons = checks.flatMap(({ host, port, reason }) => (reason === undefined ? [] : [`${host}:${port}: ${reason}\n`]));
  return `${printTable([HEADER, ...rows])}${reasons.length === 0 ? '' : `\n${reasons.join('')}`}`;
}
