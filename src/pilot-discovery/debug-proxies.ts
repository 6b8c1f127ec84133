/** How far each connected proxy is, for `/debug/syncz` and `/debug/adsz`. */
import type { ConnectedProxy } from './proxies.ts';
import { RESOURCE_TYPE_NAMES, type ResourceTypeName, TYPE_URLS, VIRTUAL_HOST_URL } from './resource-types.ts';

/** `<type>_sent` and `<type>_acked` are equal where the proxy has everything; both empty where it never asked. */
export function syncStatus(proxy: ConnectedProxy): unknown {
  const types = RESOURCE_TYPE_NAMES.flatMap((name): [string, string][] => {
    const { sent, acked, rejected, staleSince } = statusOf(proxy, name);
    const fields: [string, string][] = [
      [`${name}_sent`, sent],
      [`${name}_acked`, acked],
    ];
    if (staleSince !== undefined) fields.push([`${name}_stale_since`, staleSince.toISOString()]);
    if (rejected !== undefined) fields.push([`${name}_rejected`, rejected]);
    return fields;
  });
  return {
    proxy: proxy.node.id,
    proxy_version: String(proxy.node.metadata['MESH_VERSION'] ?? ''),
    connected_at: proxy.connectedAt.toISOString(),
    sequence: proxy.sequence,
    ...Object.fromEntries(types),
  };
}

export function connection(proxy: ConnectedProxy): unknown {
  const types = [...proxy.types].map(([typeUrl, { sent, acked, rejected }]): [string, unknown] => [
    typeUrl,
    { sent, acked, rejected },
  ]);
  return {
    connectionId: proxy.streamId,
    // Proxies that poll count down.
    transport: proxy.streamId > 0 ? 'grpc' : 'rest',
    proxy: proxy.node.id,
    userAgent: proxy.node.userAgent,
    connectedAt: proxy.connectedAt.toISOString(),
    sequence: proxy.sequence,
    types: Object.fromEntries(types),
  };
}

interface ShownStatus {
  readonly sent: string;
  readonly acked: string;
  readonly rejected: string | undefined;
  /** When that was sent which the proxy has not answered yet. */
  readonly staleSince: Date | undefined;
}

/** Routes come as tables and, to some proxies, as virtual hosts beside them: they are taken over when both are. */
function statusOf(proxy: ConnectedProxy, name: ResourceTypeName): ShownStatus {
  const urls = name === 'route' ? ([TYPE_URLS.route, VIRTUAL_HOST_URL] as const) : [TYPE_URLS[name]];
  const known = urls.map((url) => proxy.types.get(url)).filter((status) => status !== undefined);
  const newest = known.toSorted((a, b) => Number(b.sent?.at ?? 0) - Number(a.sent?.at ?? 0))[0];
  const behind = known.find(({ sent, acked }) => sent?.nonce !== acked?.nonce);
  return {
    sent: newest?.sent?.nonce ?? '',
    acked: (behind === undefined ? newest?.sent : behind.acked)?.nonce ?? '',
    rejected: known.find(({ rejected }) => rejected !== undefined)?.rejected?.message,
    staleSince: behind?.sent?.at,
  };
}
