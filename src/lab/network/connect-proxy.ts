import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { joinSockets } from './relay.ts';

/** An API server waits longer than this for its webhooks. */
const DIAL_LIMIT_MS = 5_000;

/**
 * An HTTP proxy that knows CONNECT alone (RFC 9110, section 9.3.6), as the egress selector of kube-apiserver speaks it. Gives
 * 403 for an address that is not allowed, 502 for one that takes no connection.
 */
export function connectProxy(isAllowed: (address: string) => boolean): Server {
  const server = createServer((_, response) => response.writeHead(405, { allow: 'CONNECT' }).end());
  server.on('connect', (request, client: Socket, head: Uint8Array) => {
    client.on('error', () => client.destroy());
    const target = parseTarget(request.url ?? '');
    if (target === undefined || !isAllowed(target.host)) {
      turnAway(client, '403 Forbidden');
      return;
    }
    const upstream = connect({ ...target, allowHalfOpen: true });
    const refuse = (): void => {
      upstream.destroy();
      turnAway(client, '502 Bad Gateway');
    };
    upstream.setTimeout(DIAL_LIMIT_MS, refuse).once('error', refuse);
    upstream.once('connect', () => {
      upstream.setTimeout(0).off('error', refuse);
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      if (head.length > 0) upstream.write(head);
      joinSockets(client, upstream);
    });
    client.once('close', () => upstream.connecting && upstream.destroy());
  });
  return server;
}

/** Does not wait for the client to end its side. */
function turnAway(client: Socket, status: string): void {
  client.write(`HTTP/1.1 ${status}\r\n\r\n`);
  client.destroySoon();
}

/** Address and port of a CONNECT request; undefined for a name, which nobody sends here. */
function parseTarget(text: string): { readonly host: string; readonly port: number } | undefined {
  const [, host, port] = /^(\d+(?:\.\d+){3}):(\d{1,5})$/.exec(text) ?? [];
  if (host === undefined || port === undefined || Number(port) > 65_535) return undefined;
  return { host, port: Number(port) };
}
