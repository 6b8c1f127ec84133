/** Tables of the proxy's configuration dump: https://www.envoyproxy.io/docs/envoy/latest/api-v3/admin/v3/config_dump.proto */
import { field, items, text } from './json-value.ts';
import type { Table } from './table.ts';

/** One thing that is configured, and where it stands. */
interface Entry {
  readonly state: string;
  readonly value: unknown;
  readonly changed: string;
}

/** The parts of a dump that has one of a kind of things. */
export function sectionOf(dump: unknown, kind: string): unknown {
  return items(field(dump, 'configs')).find((config) => text(field(config, '@type')).endsWith(`.${kind}ConfigDump`));
}

export function clustersTable(dump: unknown): Table {
  const section = sectionOf(dump, 'Clusters');
  const entries = [
    ...entriesOf(section, 'static_clusters', 'cluster', 'static'),
    ...entriesOf(section, 'dynamic_active_clusters', 'cluster', 'active'),
    ...entriesOf(section, 'dynamic_warming_clusters', 'cluster', 'warming'),
  ];
  return sorted(
    ['NAME', 'TYPE', 'STATE', 'CHANGED'],
    entries.map(({ value, state, changed }) => [text(field(value, 'name')), clusterType(value), state, changed]),
  );
}

function clusterType(cluster: unknown): string {
  const extension = text(field(cluster, 'cluster_type', 'name'));
  if (extension !== '') return extension.replace(/^.*\./, '').toUpperCase();
  return text(field(cluster, 'type')) || 'STATIC';
}

export function listenersTable(dump: unknown): Table {
  const section = sectionOf(dump, 'Listeners');
  const dynamic = items(field(section, 'dynamic_listeners')).flatMap((listener) =>
    (['active', 'warming', 'draining'] as const).flatMap((state): Entry[] => {
      const inner = field(listener, `${state}_state`);
      const value = field(inner, 'listener');
      return value === undefined ? [] : [{ state, value, changed: time(field(inner, 'last_updated')) }];
    }),
  );
  const refused = items(field(section, 'dynamic_listeners')).flatMap((listener): (readonly string[])[] => {
    const details = text(field(listener, 'error_state', 'details'));
    return details === '' ? [] : [[text(field(listener, 'name')), '', `refused: ${details}`, '', '']];
  });
  const rows = [...entriesOf(section, 'static_listeners', 'listener', 'static'), ...dynamic].map(({ value, state, changed }) => [
    text(field(value, 'name')),
    addressText(field(value, 'address')),
    state,
    String(items(field(value, 'filter_chains')).length + (field(value, 'default_filter_chain') === undefined ? 0 : 1)),
    changed,
  ]);
  return sorted(['NAME', 'ADDRESS', 'STATE', 'FILTER CHAINS', 'CHANGED'], [...rows, ...refused]);
}

export function routesTable(dump: unknown): Table {
  const section = sectionOf(dump, 'Routes');
  const entries = [
    ...entriesOf(section, 'static_route_configs', 'route_config', 'static'),
    ...entriesOf(section, 'dynamic_route_configs', 'route_config', 'active'),
  ];
  const rows = entries.flatMap(({ value, state }) =>
    items(field(value, 'virtual_hosts')).map((host) => [
      text(field(value, 'name')) || '(inline)',
      text(field(host, 'name')),
      shortened(items(field(host, 'domains')).map(text)),
      String(items(field(host, 'routes')).length),
      state,
    ]),
  );
  return sorted(['ROUTE TABLE', 'VIRTUAL HOST', 'DOMAINS', 'ROUTES', 'STATE'], rows);
}

/** What the bootstrap configures itself. */
export function staticTable(dump: unknown): Table {
  const resources = field(sectionOf(dump, 'Bootstrap'), 'bootstrap', 'static_resources');
  const clusters = items(field(resources, 'clusters')).map((cluster) => {
    const endpoints = items(field(cluster, 'load_assignment', 'endpoints'))
      .flatMap((locality) => items(field(locality, 'lb_endpoints')))
      .map((endpoint) => addressText(field(endpoint, 'endpoint', 'address')));
    return ['cluster', text(field(cluster, 'name')), shortened(endpoints)];
  });
  const listeners = items(field(resources, 'listeners')).map((listener) => [
    'listener',
    text(field(listener, 'name')),
    addressText(field(listener, 'address')),
  ]);
  const secrets = items(field(resources, 'secrets')).map((secret) => ['secret', text(field(secret, 'name')), '']);
  return sorted(['KIND', 'NAME', 'ADDRESS'], [...clusters, ...listeners, ...secrets]);
}

/** Who the proxy says it is, and where its configuration comes from. */
export function bootstrapTable(dump: unknown): Table {
  const bootstrap = field(sectionOf(dump, 'Bootstrap'), 'bootstrap');
  const node = field(bootstrap, 'node');
  const version = field(node, 'user_agent_build_version', 'version');
  const ads = field(bootstrap, 'dynamic_resources', 'ads_config');
  const polled = field(bootstrap, 'dynamic_resources', 'cds_config', 'api_config_source');
  const rows: readonly (readonly [string, string])[] = [
    ['node', text(field(node, 'id'))],
    ['cluster', text(field(node, 'cluster'))],
    ['zone', text(field(node, 'locality', 'zone'))],
    [
      'proxy',
      `${text(field(node, 'user_agent_name'))} ${text(field(version, 'major_number'))}.${text(field(version, 'minor_number'))}`,
    ],
    ['discovery', text(field(ads, 'api_type')) || text(field(polled, 'api_type'))],
    ['administration', addressText(field(bootstrap, 'admin', 'address'))],
    [
      'statistics sinks',
      items(field(bootstrap, 'stats_sinks'))
        .map((sink) => text(field(sink, 'name')))
        .join(', '),
    ],
    ['tracing', text(field(bootstrap, 'tracing', 'http', 'name'))],
  ];
  return [['FIELD', 'VALUE'], ...rows.filter(([, value]) => value !== '')];
}

function entriesOf(section: unknown, list: string, name: string, state: string): readonly Entry[] {
  return items(field(section, list)).map((entry) => ({
    state,
    value: field(entry, name),
    changed: time(field(entry, 'last_updated')),
  }));
}

/** `1.2.3.4:80`, or the path of a Unix socket. */
export function addressText(address: unknown): string {
  const host = text(field(address, 'socket_address', 'address'));
  const port = text(field(address, 'socket_address', 'port_value'));
  if (host === '')
    return text(field(address, 'pipe', 'path')) || text(field(address, 'envoy_internal_address', 'server_listener_name'));
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** To the second. */
const time = (value: unknown): string => text(value).replace(/\.\d+Z$/, 'Z');

const shortened = (texts: readonly string[]): string =>
  texts.length <= 2 ? texts.join(', ') : `${texts.slice(0, 2).join(', ')} + ${texts.length - 2} more`;

export function sorted(headings: readonly string[], rows: readonly (readonly string[])[]): Table {
  return [headings, ...[...rows].sort((a, b) => compare(a.join('\u0000'), b.join('\u0000')))];
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
