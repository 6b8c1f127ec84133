import { connect as connectSocket, createServer, type NetConnectOpts, type Server, type Socket } from 'node:net';

/** Joins two connections: what comes from one goes to the other, until both have ended or one breaks. */
export function joinSockets(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.pipe(to);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      if (!from.readableEnded) to.destroy();
    });
  }
}

/** A server that makes a connection of its own for each that it takes, and joins the two. */
export function relayServer(target: NetConnectOpts): Server {
  return createServer({ allowHalfOpen: true }, (client) => {
    joinSockets(client, connectSocket({ ...target, allowHalfOpen: true }));
  });
}
