/** Binding addresses, with errors that say what to do. */

import { once } from 'node:events';
import { lstatSync, unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { type ErrorCode, MeshError } from '../../lib/errors.ts';
import type { ListenAddress } from './types.ts';

const DEFAULT_SOCKET_MODE = 0o600;
/** Connections that wait to be taken; all clients come back at once when a server was away. The kernel bounds it too (net.core.somaxconn). */
const BACKLOG = 4_096;

const WHY: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  EADDRINUSE: ['already_exists', 'something listens there already: stop it or choose another address'],
  EACCES: ['permission_denied', 'permission denied: choose a port above 1023 or a directory that is writable'],
  EADDRNOTAVAIL: ['invalid', 'this machine has no such address'],
  ENOTFOUND: ['invalid', 'the host name is unknown'],
  ENOENT: ['not_found', 'the directory of the socket does not exist'],
};

export async function bind(server: Server, address: ListenAddress): Promise<void> {
  const place = 'path' in address ? address.path : `${address.host}:${address.port}`;
  try {
    if ('path' in address) await bindSocket(server, address.path, address.mode ?? DEFAULT_SOCKET_MODE);
    else await listening(server, () => server.listen({ port: address.port, host: address.host, backlog: BACKLOG }));
  } catch (thrown) {
    if (thrown instanceof MeshError) throw thrown;
    const [code, advice] = WHY[errnoOf(thrown)] ?? ['unavailable', MeshError.from(thrown).message];
    throw new MeshError(code, `cannot listen on ${place}: ${advice}`, thrown);
  }
}

function errnoOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
}

async function listening(server: Server, start: () => void): Promise<void> {
  const ready = once(server, 'listening');
  start();
  await ready;
}

async function bindSocket(server: Server, path: string, mode: number): Promise<void> {
  await removeStale(path);
  // The socket has its mode from the moment it exists: bind(2) runs within listen().
  await listening(server, () => {
    const before = process.umask(0o777 & ~mode);
    try {
      server.listen(path);
    } finally {
      process.umask(before);
    }
  });
}

/** Removes a socket that a dead process left; refuses one that answers, and anything that is no socket. */
async function removeStale(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw new MeshError('already_exists', `cannot listen on ${path}: it exists and is not a socket`);
  if (await answers(path)) {
    throw new MeshError(
      'already_exists',
      `cannot listen on ${path}: something listens there already: stop it or choose another address`,
    );
  }
  unlinkSync(path);
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path);
    probe.once('connect', () => {
      probe.destroy();
      resolve(true);
    });
    probe.once('error', () => resolve(false));
  });
}
