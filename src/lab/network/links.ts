import { NODE_ADDRESS } from './addresses.ts';

/**
 * Batches for `ip -batch`. Every pod hangs on the node by its own veth pair with host routes at both ends: there is no
 * bridge, so that all traffic passes the node's routing and its service rules.
 */

/** At the node's end; `pausePid` holds the pod's network namespace. */
export function nodeLinkBatch(link: string, podIp: string, pausePid: number): string {
  return lines([
    `link add name ${link} type veth peer name eth0 netns ${pausePid}`,
    `link set dev ${link} up`,
    `route add ${podIp}/32 dev ${link} src ${NODE_ADDRESS}`,
  ]);
}

/** At the pod's end. */
export function podLinkBatch(podIp: string): string {
  return lines([
    'link set dev lo up',
    `address add ${podIp}/32 dev eth0`,
    'link set dev eth0 up',
    `route add ${NODE_ADDRESS}/32 dev eth0 scope link`,
    `route add default via ${NODE_ADDRESS} dev eth0 onlink`,
  ]);
}

export function nodeBatch(): string {
  return lines(['link set dev lo up', `address add ${NODE_ADDRESS}/32 dev lo`]);
}

function lines(commands: readonly string[]): string {
  return `${commands.join('\n')}\n`;
}
