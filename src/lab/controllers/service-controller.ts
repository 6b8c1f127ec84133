import type { Logger } from '../../io/log/logger.ts';
import type { KubeObject } from '../../model/object.ts';
import type { Cluster } from '../cluster.ts';
import { isRecord } from '../kubelet/fields.ts';
import { AddressPool, SERVICE_RANGE } from '../network/addresses.ts';
import { isManaged, slicesOf } from './endpoint-slices.ts';
import { podView } from './pod-view.ts';
import { type ServiceView, serviceView } from './service-view.ts';

/** Gives services their addresses, and writes the endpoints of those that select pods. */
export class ServiceController {
  readonly #cluster: Cluster;
  readonly #logger: Logger;
  readonly #pool = new AddressPool(SERVICE_RANGE);
  /** Address given out, by `namespace/name`. */
  readonly #addresses = new Map<string, string>();

  constructor(cluster: Cluster, logger: Logger) {
    this.#cluster = cluster;
    this.#logger = logger;
  }

  async reconcile(): Promise<void> {
    const services = this.#cluster.list('service').map(serviceView);
    this.#release(services);
    for (const service of services) await this.#giveAddress(service);
    await this.#writeSlices(services);
  }

  #release(services: readonly ServiceView[]): void {
    const current = new Map(services.map((service) => [keyOf(service), service.clusterIp]));
    for (const [key, address] of this.#addresses) {
      if (current.has(key) && (current.get(key) ?? address) === address) continue;
      this.#pool.release(address);
      this.#addresses.delete(key);
    }
  }

  async #giveAddress(service: ServiceView): Promise<void> {
    const { clusterIp, object } = service;
    if (service.isExternalName || clusterIp === 'None') return;
    const key = keyOf(service);
    if (this.#addresses.has(key) && clusterIp !== undefined) return;
    const address = this.#addresses.get(key) ?? this.#pool.allocate(clusterIp);
    if (clusterIp !== undefined && address !== clusterIp) {
      // Outside the range it is the user's own business; inside it another service has it.
      this.#logger.warn("the address of a service is not in the lab's range or taken by another one", {
        service: key,
        clusterIp,
      });
      this.#pool.release(address);
      return;
    }
    this.#addresses.set(key, address);
    if (clusterIp === undefined) await this.#cluster.replace(withAddress(object, address));
  }

  async #writeSlices(services: readonly ServiceView[]): Promise<void> {
    const pods = this.#cluster.list('pod').map(podView);
    const existing = this.#cluster.list('endpointSlice').filter(isManaged);
    const wanted = services.flatMap((service) =>
      slicesOf(
        service,
        pods.filter(({ namespace }) => namespace === service.namespace),
      ),
    );
    const names = new Set(wanted.map(nameOf));
    for (const slice of wanted) await this.#cluster.put('endpointSlice', slice);
    for (const slice of existing) if (!names.has(nameOf(slice))) await this.#cluster.delete('endpointSlice', slice);
  }
}

function keyOf({ namespace, name }: ServiceView): string {
  return `${namespace}/${name}`;
}

function nameOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function withAddress(service: KubeObject, address: string): KubeObject {
  const spec = isRecord(service['spec']) ? service['spec'] : {};
  return { ...service, spec: { ...spec, clusterIP: address, clusterIPs: [address] } };
}
