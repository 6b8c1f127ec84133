import { NODE_ADDRESS, SERVICE_RANGE } from './addresses.ts';

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

/** Table for what the node itself sends to services. */
const OWN_TABLE = 100;

/**
 * The node calls services too. The kernel wants a route before it asks the service rules, which then change the destination;
 * pods' packets do not see it, so that an address of no service stays unreachable for them.
 */
export function nodeBatch(): string {
  const services = `${SERVICE_RANGE.base}/${32 - SERVICE_RANGE.bits}`;
  return lines([
    'link set dev lo up',
    `address add ${NODE_ADDRESS}/32 dev lo`,
    `route add ${services} dev lo src ${NODE_ADDRESS} table ${OWN_TABLE}`,
    `rule add iif lo to ${services} lookup ${OWN_TABLE}`,
  ]);
}

function lines(commands: readonly string[]): string {
  return `${commands.join('\n')}\n`;
}
