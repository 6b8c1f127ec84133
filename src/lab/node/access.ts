import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { dirname } from 'node:path';
import type { Access } from '../../io/kubernetes/access.ts';
import { parseKubeconfig } from '../../io/kubernetes/kubeconfig.ts';
import { formatProblem, MeshError } from '../../lib/errors.ts';

/** What pods know every API server by; TLS has no way to ask for an address. */
const CLUSTER_NAME = 'kubernetes.default.svc';

/** Where an API server is. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** What a kubeconfig says. Throws `usage` with every problem of it. */
export function readAccess(path: string): Access {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new MeshError('usage', `--orchconfig: ${path} cannot be read: ${MeshError.from(error).message}`, error);
  }
  const access = parseKubeconfig(text, dirname(path));
  if (!access.ok) {
    const problems = access.problems.map(formatProblem).join('; ');
    throw new MeshError('usage', `--orchconfig: ${path} is no usable kubeconfig: ${problems}`);
  }
  if (access.value.server.proxy !== undefined)
    throw new MeshError('usage', `--orchconfig: ${path} names a proxy-url, which the lab cannot go through`);
  return access.value;
}

export function addressOf({ server }: Access): ServerAddress {
  const { protocol, hostname, port } = new URL(server.url);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || (protocol === 'https:' ? 443 : 80)) };
}

/** The same server, reached at another address; its certificate is still checked for the name that it has. */
export function reachedAt(access: Access, { host, port }: ServerAddress): Access {
  const url = new URL(access.server.url);
  const { host: known } = addressOf(access);
  const serverName = access.server.serverName ?? (isIP(known) === 0 ? known : CLUSTER_NAME);
  url.hostname = host;
  url.port = `${port}`;
  return { ...access, server: { ...access.server, url: url.href.replace(/\/$/, ''), serverName } };
}
