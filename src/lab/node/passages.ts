import { once } from 'node:events';
import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import type { ListenOptions, Server } from 'node:net';
import { dirname } from 'node:path';
import { isInRange, NODE_ADDRESS, POD_RANGE, SERVICE_RANGE } from '../network/addresses.ts';
import { connectProxy } from '../network/connect-proxy.ts';
import { relayServer } from '../network/relay.ts';
import type { LabPaths } from '../paths.ts';
import { RELAY_PORT } from './api-service.ts';
import type { NodeSettings } from './settings.ts';

/**
 * The two ways through the wall around the node's network, both Unix sockets, which network namespaces do not part: from the node to
 * the API server (lab uplink waits at the other end), and from the API server to webhooks.
 */
export async function openPassages(paths: LabPaths, { egressSocket }: NodeSettings, signal: AbortSignal): Promise<void> {
  await listen(relayServer({ path: paths.uplink }), { host: NODE_ADDRESS, port: RELAY_PORT }, signal);
  if (egressSocket === '') return;
  const proxy = connectProxy((address) => isInRange(address, POD_RANGE) || isInRange(address, SERVICE_RANGE));
  await listenAt(proxy, egressSocket, signal);
}

/** Takes the place of what an earlier run has left; for this user alone. */
export async function listenAt(server: Server, path: string, signal: AbortSignal): Promise<void> {
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { force: true });
  await listen(server, { path }, signal);
  chmodSync(path, 0o600);
}

async function listen(server: Server, options: ListenOptions, signal: AbortSignal): Promise<void> {
  server.listen({ ...options, signal });
  await once(server, 'listening', { signal });
}
