import { writeFileSync } from 'node:fs';
import { requireCommand } from '../run-command.ts';
import type { Tools } from '../tools.ts';
import { NODE_ADDRESS } from './addresses.ts';
import { nodeBatch } from './links.ts';
import { proxyRules, type ServiceAddress } from './proxy-rules.ts';

/** The network of the lab's node: its address, routing between pods, and the services' rules. */
export class NodeNetwork {
  readonly #tools: Tools;
  #rules = '';

  constructor(tools: Tools) {
    this.#tools = tools;
  }

  /** Throws `internal` with what `ip` complained about. */
  async setUp(): Promise<void> {
    await requireCommand(this.#tools.ip, ['-batch', '-'], { input: nodeBatch() });
    const set = (name: string, value: string): void => writeFileSync(`/proc/sys/net/ipv4/${name}`, value);
    set('ip_forward', '1');
    // A pod that reaches itself through a service goes out and in by the same link, which is no reason for a redirect.
    set('conf/all/send_redirects', '0');
    set('conf/default/send_redirects', '0');
  }

  /** Replaces the rules if they differ. */
  async setServices(services: readonly ServiceAddress[]): Promise<void> {
    const rules = proxyRules(services, NODE_ADDRESS);
    if (rules === this.#rules) return;
    await requireCommand(this.#tools['iptables-restore'], [], { input: rules });
    this.#rules = rules;
  }
}
