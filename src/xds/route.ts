import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { RouteConfiguration } from '#gen/envoy/config/route/v3/route.ts';
import { ADS } from './config-source.ts';

/** RouteConfiguration.virtual_hosts, length-delimited. */
const VIRTUAL_HOSTS_TAG = (2 << 3) | 2;

/**
 * Serialises a route table from virtual hosts that are serialised already: a table of a thousand services is assembled by
 * copying, and a new service costs the encoding of one virtual host. `inline`: these are all there are; `delivered`: the others come as
 * resources of their own.
 */
export function encodeRouteTable(name: string, virtualHosts: readonly Uint8Array[], others: 'inline' | 'delivered'): Uint8Array {
  const vhds = others === 'delivered' ? { configSource: ADS } : undefined;
  const head = RouteConfiguration.fromPartial({ name, ignorePortInHostMatching: true, ...(vhds && { vhds }) });
  const writer = new BinaryWriter();
  RouteConfiguration.encode(head, writer);
  for (const host of virtualHosts) writer.uint32(VIRTUAL_HOSTS_TAG).bytes(host);
  return writer.finish();
}
