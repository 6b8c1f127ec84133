import { connect, isIP, type Socket } from 'node:net';

/**
 * The addresses that inbound connections come to the application from (mesh-init's rules): a connection from here is not
 * sent through the proxy once more, whose policy would refuse it.
 */
const INBOUND_SOURCE = { 4: '127.0.0.6', 6: '::6' } as const;

/**
 * Opens a connection to a port of the application, as the proxy does for inbound traffic: at the pod's own address. Where the
 * special source address cannot be bound to, nothing redirects connections either. The signal ends the connection too.
 */
export function connectToApplication(address: string, port: number, signal: AbortSignal): Promise<Socket> {
  const localAddress = isIP(address) === 6 ? INBOUND_SOURCE[6] : INBOUND_SOURCE[4];
  return open(address, port, localAddress, signal).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'EADDRNOTAVAIL' || cause.code === 'EINVAL') return open(address, port, undefined, signal);
    throw cause;
  });
}

function open(host: string, port: number, localAddress: string | undefined, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, signal, ...(localAddress === undefined ? {} : { localAddress }) });
    socket.once('connect', () => {
      socket.off('error', reject);
      // Whoever uses the connection hears of errors by its own listeners; without any they would end the process.
      socket.on('error', () => {});
      resolve(socket);
    });
    socket.once('error', reject);
  });
}
