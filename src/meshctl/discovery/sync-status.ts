/** Reads `/debug/syncz`: how far each proxy of a replica is. */
import { field, items, text } from '../../proxy-dump/json-value.ts';

/** The columns of proxy-status, and what syncz calls them. */
export const TYPES = { cds: 'cluster', lds: 'listener', eds: 'endpoint', rds: 'route' } as const;
export type TypeColumn = keyof typeof TYPES;
export const TYPE_COLUMNS = Object.keys(TYPES) as readonly TypeColumn[];

export type TypeSync =
  | { readonly status: 'SYNCED' }
  /** Sent and not answered yet; `since` (RFC 3339) is when it was sent, empty where discovery does not say. */
  | { readonly status: 'STALE'; readonly since: string }
  /** The proxy has not asked for it, or there was nothing to send. */
  | { readonly status: 'NOT SENT' }
  /** The proxy keeps to what it had before. */
  | { readonly status: 'REJECTED'; readonly reason: string };

export interface ProxySync {
  /** The whole node id. */
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly types: Readonly<Record<TypeColumn, TypeSync>>;
  /** The replica that it is connected to. */
  readonly pilot: string;
  readonly version: string;
  /** RFC 3339. */
  readonly connectedAt: string;
}

/** The proxies of one replica, as its page tells them; what is no proxy is left out. */
export function readSyncStatus(page: unknown, pilot: string): readonly ProxySync[] {
  return items(page).flatMap((row): readonly ProxySync[] => {
    const id = text(field(row, 'proxy'));
    if (id === '') return [];
    const { name, namespace } = workloadOf(id);
    const types = Object.fromEntries(TYPE_COLUMNS.map((column) => [column, typeSync(row, TYPES[column])]));
    return [
      {
        id,
        name,
        namespace,
        types: types as Readonly<Record<TypeColumn, TypeSync>>,
        pilot,
        version: text(field(row, 'proxy_version')),
        connectedAt: text(field(row, 'connected_at')),
      },
    ];
  });
}

function typeSync(row: unknown, type: string): TypeSync {
  const [sent, acked] = [text(field(row, `${type}_sent`)), text(field(row, `${type}_acked`))];
  const reason = text(field(row, `${type}_rejected`));
  if (reason !== '') return { status: 'REJECTED', reason };
  if (sent === '') return { status: 'NOT SENT' };
  return sent === acked ? { status: 'SYNCED' } : { status: 'STALE', since: text(field(row, `${type}_stale_since`)) };
}

/** Pod and namespace of `type~ip~pod.namespace~domain`; the pod's name may have dots in it, the namespace has none. */
function workloadOf(id: string): { readonly name: string; readonly namespace: string } {
  const workload = id.split('~')[2] ?? id;
  const dot = workload.lastIndexOf('.');
  return dot < 0 ? { name: workload, namespace: '' } : { name: workload.slice(0, dot), namespace: workload.slice(dot + 1) };
}
