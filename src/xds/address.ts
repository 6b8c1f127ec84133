import { type Address, SocketAddress } from '#gen/envoy/config/core/v3/address.ts';
import { AdditionalAddress } from '#gen/envoy/config/listener/v3/listener.ts';
import type { Families } from './node.ts';

export function socketAddress(address: string, port: number): SocketAddress {
  return SocketAddress.fromPartial({ address, portSpecifier: { $case: 'portValue', portValue: port } });
}

export function tcpAddress(address: string, port: number): Address {
  return { address: { $case: 'socketAddress', socketAddress: socketAddress(address, port) } };
}

/** All addresses of a port, of the families the proxy has: binding one that the host lacks would reject the listener. */
export function wildcard(families: Families, port: number): { address: Address; additionalAddresses: AdditionalAddress[] } {
  switch (families) {
    case 'ipv4':
      return { address: tcpAddress('0.0.0.0', port), additionalAddresses: [] };
    case 'ipv6':
      return { address: tcpAddress('::', port), additionalAddresses: [] };
    case 'dual': {
      const second = AdditionalAddress.fromPartial({ address: tcpAddress('::', port) });
      return { address: tcpAddress('0.0.0.0', port), additionalAddresses: [second] };
    }
  }
}
