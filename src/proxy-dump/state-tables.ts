/** Tables of what the proxy is doing now: endpoints and their health, certificates, statistics. */
import { X509Certificate } from 'node:crypto';
import { addressText, sectionOf, sorted } from './config-tables.ts';
import { field, items, text } from './json-value.ts';
import type { Table } from './table.ts';

/** Of `/clusters?format=json`. */
export function endpointsTable(clusters: unknown): Table {
  const rows = items(field(clusters, 'cluster_statuses')).flatMap((cluster) =>
    items(field(cluster, 'host_statuses')).map((host) => [
      text(field(cluster, 'name')),
      addressText(field(host, 'address')),
      healthOf(field(host, 'health_status')),
      text(field(host, 'weight')) || '1',
      text(field(host, 'locality', 'zone')),
    ]),
  );
  return sorted(['CLUSTER', 'ENDPOINT', 'HEALTH', 'WEIGHT', 'ZONE'], rows);
}

function healthOf(status: unknown): string {
  const reported = text(field(status, 'eds_health_status')) || 'HEALTHY';
  const failures = ['failed_outlier_check', 'failed_active_health_check', 'pending_active_hc'].filter(
    (name) => field(status, name) === true,
  );
  return [reported, ...failures].join(' ').toLowerCase();
}

/** Of the configuration dump: whom the certificates name and how long they last. `now` tells which have expired. */
export function secretsTable(dump: unknown, now: Date): Table {
  const section = sectionOf(dump, 'Secrets');
  const rows = (['static_secrets', 'dynamic_active_secrets', 'dynamic_warming_secrets'] as const).flatMap((list) =>
    items(field(section, list)).flatMap((entry) => {
      const state = list.replace(/^dynamic_|_secrets$/g, '');
      const secret = field(entry, 'secret');
      const name = text(field(entry, 'name'));
      const chain = field(secret, 'tls_certificate', 'certificate_chain');
      const roots = field(secret, 'validation_context', 'trusted_ca');
      if (chain !== undefined) return certificateRows(name, 'key and certificate', state, chain, now);
      if (roots !== undefined) return certificateRows(name, 'roots', state, roots, now);
      return [[name, '', state, '', '', '', '']];
    }),
  );
  return sorted(['NAME', 'KIND', 'STATE', 'NAMES', 'SERIAL', 'EXPIRES', 'VALID'], rows);
}

function certificateRows(name: string, kind: string, state: string, source: unknown, now: Date): readonly (readonly string[])[] {
  const inlined =
    text(field(source, 'inline_string')) || Buffer.from(text(field(source, 'inline_bytes')), 'base64').toString('utf8');
  const certificates = (inlined.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? []).flatMap(parsed);
  if (certificates.length === 0) return [[name, kind, state, text(field(source, 'filename')), '', '', '']];
  return certificates.map((certificate) => [
    name,
    kind,
    state,
    certificate.subjectAltName ?? certificate.subject?.replaceAll('\n', ', ') ?? '',
    certificate.serialNumber,
    certificate.validToDate.toISOString().replace('.000Z', 'Z'),
    now >= certificate.validFromDate && now <= certificate.validToDate ? 'yes' : 'no',
  ]);
}

function parsed(pem: string): readonly X509Certificate[] {
  try {
    return [new X509Certificate(pem)];
  } catch {
    return [];
  }
}

/** Of `/stats`, a line `name: value` each; what was never counted is left out. */
export function statsTable(lines: string): Table {
  const rows = lines
    .split('\n')
    .map((line) => /^(.+?): (.*)$/.exec(line))
    .filter((match) => match !== null)
    .map(([, name = '', value = '']) => [name, value])
    .filter(([, value]) => value !== '' && value !== 'No recorded values');
  return sorted(['NAME', 'VALUE'], rows);
}
