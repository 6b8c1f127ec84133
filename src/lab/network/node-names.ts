import { existsSync, writeFileSync } from 'node:fs';
import { writeInPlace } from '../kubelet/write-in-place.ts';
import { requireCommand } from '../run-command.ts';
import type { Tools } from '../tools.ts';
import { NODE_ADDRESS } from './addresses.ts';
import { hostsText, type NamedAddress } from './hosts.ts';

export interface NodeNamesOptions {
  /** The lab's own hosts and resolv.conf; the files outlive a mount, so they are written in place. */
  readonly hosts: string;
  readonly resolvConf: string;
  readonly tools: Tools;
  readonly domain: string;
}

/**
 * The names that the node's processes resolve: the control plane fetches key sets by a service's name. The lab's mount
 * namespace gets its own /etc/hosts and /etc/resolv.conf; the machine's are not touched.
 */
export class NodeNames {
  readonly #options: NodeNamesOptions;

  constructor(options: NodeNamesOptions) {
    this.#options = options;
  }

  /** Throws `internal` with what `mount` complained about. */
  async setUp(resolvConf: string): Promise<void> {
    const { hosts, resolvConf: resolvConfPath, tools } = this.#options;
    writeFileSync(resolvConfPath, resolvConf);
    this.set([]);
    for (const [source, target] of [
      [hosts, '/etc/hosts'],
      [resolvConfPath, '/etc/resolv.conf'],
    ] as const) {
      if (existsSync(target)) await requireCommand(tools.mount, ['--bind', source, target]);
    }
  }

  set(services: readonly NamedAddress[]): void {
    const { hosts, domain } = this.#options;
    writeInPlace(hosts, hostsText({ namespace: '', podName: 'node', podIp: NODE_ADDRESS, services, domain }));
  }
}
