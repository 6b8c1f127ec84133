/** Ports for servers of tests. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

const LOWEST = 16_384;
/** Kubernetes redirects the ports of its Services of type NodePort from here on. */
const ABOVE_HIGHEST = 30_000;
const FEWEST = 4_096;

/** Where the kernel takes the ports from that it chooses itself, also those of outgoing connections. */
function firstEphemeralPort(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split('\t')[0]);
  } catch {
    return 0;
  }
}

const end = Math.min(ABOVE_HIGHEST, firstEphemeralPort());
const range = end - LOWEST >= FEWEST ? end - LOWEST : 0;
/** By chance, so that runs beside each other do not meet. */
let next = Math.floor(Math.random() * range);

/**
 * A port that nobody listens on, and that nobody gets before the test's server listens there: the kernel gives it to no connection, and
 * this process to no second caller.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = range === 0 ? 0 : LOWEST + (next++ % range);
    const server = createServer().listen(port);
    const listens = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!listens) continue;
    const address = server.address();
    server.close();
    await once(server, 'close');
    if (address === null || typeof address === 'string') throw new Error('no port');
    return address.port;
  }
}

/** So many of them. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await freePort());
  return ports;
}
