import type { Cluster } from '../cluster.ts';
import { serviceView } from '../controllers/service-view.ts';
import type { Kubelet } from '../kubelet/kubelet.ts';
import { memoryPaths } from '../kubelet/running-pod.ts';
import type { Tools } from '../tools.ts';
import { RESOLV_CONF } from './hosts.ts';
import { NodeNames } from './node-names.ts';
import { NodeNetwork } from './node-network.ts';
import type { ServiceAddress } from './proxy-rules.ts';
import { serviceAddresses, serviceNames } from './service-addresses.ts';

export interface ServiceNetworkOptions {
  readonly tools: Tools;
  /** The directory in memory. */
  readonly memory: string;
  readonly domain: string;
}

/** The network of a node, with the addresses and the names of a cluster's services. */
export class ServiceNetwork {
  readonly #network: NodeNetwork;
  readonly #names: NodeNames;

  private constructor(network: NodeNetwork, names: NodeNames) {
    this.#network = network;
    this.#names = names;
  }

  static async setUp({ tools, memory, domain }: ServiceNetworkOptions): Promise<ServiceNetwork> {
    const network = new NodeNetwork(tools);
    await network.setUp();
    const names = new NodeNames({
      hosts: `${memory}/${memoryPaths.hosts('node')}`,
      resolvConf: `${memory}/${memoryPaths.resolvConf}`,
      tools,
      domain,
    });
    await names.setUp(RESOLV_CONF);
    return new ServiceNetwork(network, names);
  }

  /** Brings addresses and names, those that pods know included, to what the cluster's services are now. `via` may lead addresses elsewhere. */
  async update(
    cluster: Pick<Cluster, 'list'>,
    pods: Pick<Kubelet, 'setNames'>,
    via: (addresses: readonly ServiceAddress[]) => readonly ServiceAddress[] = (addresses) => addresses,
  ): Promise<void> {
    const services = cluster.list('service').map(serviceView);
    const slices = cluster.list('endpointSlice');
    const resolvable = serviceNames(services, slices);
    pods.setNames(resolvable);
    this.#names.set(resolvable);
    await this.#network.setServices(via(serviceAddresses(services, slices)));
  }
}
