import { bootstrapTable, clustersTable, listenersTable, routesTable, staticTable } from './config-tables.ts';
import type { ConfigurationType } from './configuration-types.ts';
import { field, items, text } from './json-value.ts';
import { withoutSecrets } from './redact.ts';
import { endpointsTable, secretsTable, statsTable } from './state-tables.ts';
import type { Table } from './table.ts';

/** Who answers for a proxy, by the paths of its administration port: the proxy itself, or somebody who knows what it has. */
export interface DumpSource {
  /** Rejects with a MeshError `unavailable` when there is no answer. */
  get(path: string): Promise<string>;
}

/** One part of the proxy's configuration or state, for people and for programs. */
export interface View {
  readonly title: string;
  readonly table: Table;
  /** What the proxy itself said, without secrets. */
  readonly data: unknown;
}

type SingleType = Exclude<ConfigurationType, 'all'>;

const ALL: readonly SingleType[] = ['bootstrap', 'clusters', 'endpoints', 'listeners', 'routes', 'secrets'];

/** Asks for what a type stands for. Rejects with what the source rejects with. */
export async function viewsOf(type: ConfigurationType, source: DumpSource, now: Date): Promise<readonly View[]> {
  const dump = once(() => source.get('/config_dump?include_eds').then((body): unknown => withoutSecrets(JSON.parse(body))));
  const types = type === 'all' ? ALL : [type];
  const views: View[] = [];
  for (const each of types) views.push(await viewOf(each, source, dump, now));
  return views;
}

async function viewOf(type: SingleType, source: DumpSource, dump: () => Promise<unknown>, now: Date): Promise<View> {
  switch (type) {
    case 'bootstrap':
      return { title: type, table: bootstrapTable(await dump()), data: section(await dump(), ['Bootstrap']) };
    case 'static':
      return { title: type, table: staticTable(await dump()), data: staticResources(await dump()) };
    case 'clusters':
      return { title: type, table: clustersTable(await dump()), data: section(await dump(), ['Clusters']) };
    case 'listeners':
      return { title: type, table: listenersTable(await dump()), data: section(await dump(), ['Listeners']) };
    case 'routes':
      return { title: type, table: routesTable(await dump()), data: section(await dump(), ['Routes', 'ScopedRoutes']) };
    case 'secrets':
      return { title: type, table: secretsTable(await dump(), now), data: section(await dump(), ['Secrets']) };
    case 'endpoints': {
      const clusters: unknown = JSON.parse(await source.get('/clusters?format=json'));
      return { title: type, table: endpointsTable(clusters), data: clusters };
    }
    case 'stats': {
      const [lines, json] = [await source.get('/stats'), await source.get('/stats?format=json')];
      return { title: type, table: statsTable(lines), data: JSON.parse(json) };
    }
  }
}

function section(dump: unknown, kinds: readonly string[]): unknown {
  const wanted = items(field(dump, 'configs')).filter((config) =>
    kinds.some((kind) => text(field(config, '@type')).endsWith(`.${kind}ConfigDump`)),
  );
  return { configs: wanted };
}

function staticResources(dump: unknown): unknown {
  const bootstrap = items(field(dump, 'configs')).find((config) => text(field(config, '@type')).endsWith('.BootstrapConfigDump'));
  return field(bootstrap, 'bootstrap', 'static_resources') ?? {};
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= work());
}
