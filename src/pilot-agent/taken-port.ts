/** Ports that the proxy needs and somebody else has. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { ProxyConfig } from './config.ts';

interface NeededPort {
  readonly host: string;
  readonly port: number;
  readonly flag: string;
}

/** Tells which of the bootstrap's ports is taken, in words; undefined: none. Only to be asked while no proxy of ours runs. */
export async function findTakenPort(config: ProxyConfig): Promise<string | undefined> {
  for (const { host, port, flag } of neededPorts(config)) {
    if (await isTaken(host, port)) return `port ${port} (${flag}) is taken by another program`;
  }
  return undefined;
}

/** What a bootstrap of the user's listens on only its author knows, but for the administration port. */
function neededPorts({ adminPort, prometheusPort, bootstrap }: ProxyConfig): readonly NeededPort[] {
  const admin = { host: '127.0.0.1', port: adminPort, flag: '--proxyAdminPort' };
  if (bootstrap.kind !== 'generated') return [admin];
  return [admin, { host: '0.0.0.0', port: prometheusPort, flag: '--prometheusPort' }];
}

async function isTaken(host: string, port: number): Promise<boolean> {
  const server = createServer();
  const listening = once(server, 'listening').then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === 'EADDRINUSE',
  );
  server.listen({ host, port, exclusive: true });
  const taken = await listening;
  if (server.listening) await new Promise((resolve) => server.close(resolve));
  return taken;
}
