import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { listenError } from '../../io/net/multiplex.ts';

const MAX_CONNECTIONS = 1_024;
const IDLE_MS = 300_000;

export interface EchoServer {
  readonly port: number;
  /** Stops listening and ends every connection. */
  close(): Promise<void>;
}

/** Sends back every byte of a TCP connection: proof that a port is passed through raw. Rejects with a MeshError that names the address. */
export async function listenEcho(host: string, port: number): Promise<EchoServer> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    // A client that goes away in the middle is no failure of the server.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    socket.pipe(socket);
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen({ host, port });
  await once(server, 'listening').catch((cause: unknown) => {
    throw listenError(cause, `${host}:${port}`);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
