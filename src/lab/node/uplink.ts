import { once } from 'node:events';
import type { Host } from '../../io/host.ts';
import { relayServer } from '../network/relay.ts';
import { addressOf, readAccess } from './access.ts';
import { listenAt } from './passages.ts';

/**
 * The one process of a node outside of its network: joins the connections that come by a Unix socket to the API server. Ends with the
 * node, which holds the other end of its standard input.
 */
export async function runUplinkRelay(socket: string, kubeconfig: string, host: Host): Promise<void> {
  const server = relayServer(addressOf(readAccess(kubeconfig)));
  await listenAt(server, socket, host.signal);
  host.stdin.resume();
  await once(host.stdin, 'end', { signal: host.signal }).catch(() => {});
  server.close();
}
