/** A service's name and address, as pods resolve it. */
export interface NamedAddress {
  readonly name: string;
  readonly namespace: string;
  /** One for a service address, every ready pod's for a headless service. */
  readonly addresses: readonly string[];
}

export interface HostsFile {
  readonly namespace: string;
  readonly podName: string;
  readonly podIp: string;
  readonly services: readonly NamedAddress[];
  /** `cluster.local` */
  readonly domain: string;
}

/**
 * The /etc/hosts of a pod, which stands in for the cluster's DNS: `svc` in the pod's own namespace, `svc.ns`, `svc.ns.svc`
 * and `svc.ns.svc.<domain>` everywhere.
 */
export function hostsText({ namespace, podName, podIp, services, domain }: HostsFile): string {
  const lines = services
    .toSorted((a, b) => compare(a.namespace, b.namespace) || compare(a.name, b.name))
    .flatMap((service) =>
      service.addresses.toSorted(compare).map((address) => `${address}\t${aliases(service, namespace, domain)}`),
    );
  return ['127.0.0.1\tlocalhost', '::1\tlocalhost ip6-localhost ip6-loopback', `${podIp}\t${podName}`, ...lines, ''].join('\n');
}

function aliases({ name, namespace }: NamedAddress, from: string, domain: string): string {
  const qualified = [`${name}.${namespace}.svc.${domain}`, `${name}.${namespace}.svc`, `${name}.${namespace}`];
  return (namespace === from ? [...qualified, name] : qualified).join(' ');
}

/** The hosts file is all there is: any other name is refused at once by a loopback address where nothing listens. */
export const RESOLV_CONF = 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n';

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
