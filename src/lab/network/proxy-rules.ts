/**
 * What kube-proxy does, for one node: connections to a service's address go to one of its ready endpoints. The rules are
 * the node's whole nat and filter tables, which the lab owns, so that one iptables-restore replaces them atomically.
 */

export interface ServiceAddress {
  readonly clusterIp: string;
  readonly ports: readonly ServiceAddressPort[];
}

export interface ServiceAddressPort {
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP';
  readonly endpoints: readonly Endpoint[];
}

export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/** Input of `iptables-restore`. Every list is sorted, so equal services give equal text. */
export function proxyRules(services: readonly ServiceAddress[], nodeAddress: string): string {
  const ports = services
    .flatMap(({ clusterIp, ports: each }) => each.map((port) => ({ clusterIp, ...port })))
    .sort((a, b) => compare(a.clusterIp, b.clusterIp) || a.port - b.port || compare(a.protocol, b.protocol));
  const dnat = ports.flatMap(dnatRules);
  const refused = ports.filter(({ endpoints }) => endpoints.length === 0);
  const addresses = new Set(ports.flatMap(({ endpoints }) => endpoints.map(({ address }) => address)));
  return [
    '*nat',
    ':PREROUTING ACCEPT [0:0]',
    ':INPUT ACCEPT [0:0]',
    ':OUTPUT ACCEPT [0:0]',
    ':POSTROUTING ACCEPT [0:0]',
    ':MESH-SERVICES - [0:0]',
    '-A PREROUTING -j MESH-SERVICES',
    '-A OUTPUT -j MESH-SERVICES',
    ...dnat,
    // A pod that reaches itself through a service would see its own address as the source and drop the packet.
    ...[...addresses].sort(compare).map((ip) => `-A POSTROUTING -s ${ip}/32 -d ${ip}/32 -j SNAT --to-source ${nodeAddress}`),
    'COMMIT',
    '*filter',
    ':INPUT ACCEPT [0:0]',
    ':FORWARD ACCEPT [0:0]',
    ':OUTPUT ACCEPT [0:0]',
    ':MESH-REFUSED - [0:0]',
    '-A FORWARD -j MESH-REFUSED',
    '-A OUTPUT -j MESH-REFUSED',
    ...refused.map((port) => `-A MESH-REFUSED ${matchPort(port)} -j REJECT --reject-with icmp-port-unreachable`),
    'COMMIT',
    '',
  ].join('\n');
}

function dnatRules(port: ServiceAddressPort & { readonly clusterIp: string }): string[] {
  const endpoints = [...port.endpoints].sort((a, b) => compare(a.address, b.address) || a.port - b.port);
  return endpoints.map(({ address, port: target }, index) => {
    const left = endpoints.length - index;
    const share = left === 1 ? '' : ` -m statistic --mode random --probability ${(1 / left).toFixed(10)}`;
    return `-A MESH-SERVICES ${matchPort(port)}${share} -j DNAT --to-destination ${address}:${target}`;
  });
}

function matchPort({ clusterIp, protocol, port }: ServiceAddressPort & { readonly clusterIp: string }): string {
  const name = protocol.toLowerCase();
  return `-d ${clusterIp}/32 -p ${name} -m ${name} --dport ${port}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
