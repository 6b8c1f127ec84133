import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { RouteConfiguration } from '#gen/envoy/config/route/v3/route.ts';

/** RouteConfiguration.virtual_hosts, length-delimited. */
const VIRTUAL_HOSTS_TAG = (2 << 3) | 2;

/**
 * Serialises a route table from virtual hosts that are serialised already: a table of a thousand services is assembled by
 * copying, and a new service costs the encoding of one virtual host.
 */
export function encodeRouteTable(name: string, virtualHosts: readonly Uint8Array[]): Uint8Array {
  const head = RouteConfiguration.fromPartial({ name, ignorePortInHostMatching: true });
  const writer = new BinaryWriter();
  RouteConfiguration.encode(head, writer);
  for (const host of virtualHosts) writer.uint32(VIRTUAL_HOSTS_TAG).bytes(host);
  return writer.finish();
}
