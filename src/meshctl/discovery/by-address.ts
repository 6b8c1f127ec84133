import { type Fetch, fetchDocument } from '../../io/jwks/fetch-document.ts';
import { seconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import { type DiscoveryReplica, NEEDS_CERTIFICATE } from './replica.ts';

/** A dump for one proxy of a large mesh has tens of megabytes. */
const LIMITS = { timeout: seconds(10), maxBytes: 256 << 20, maxRedirects: 0 } as const;

/** A replica at `host:port`. Throws MeshError `usage` for anything else. */
export function replicaAt(address: string, fetch: Fetch, signal: AbortSignal): DiscoveryReplica {
  const base = `http://${address}`;
  if (!/:\d+$/.test(address) || !URL.canParse(base) || new URL(base).pathname !== '/' || address.includes('@'))
    throw new MeshError('usage', `--address: "${address}" is not host:port, such as 127.0.0.1:8080`);
  return {
    name: address,
    async get(path, query = {}) {
      const url = new URL(path, base);
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
      try {
        return JSON.parse(await fetchDocument(url.href, fetch, LIMITS, signal)) as unknown;
      } catch (thrown) {
        const { code, message } = MeshError.from(thrown, 'unavailable');
        const refused = message.includes('HTTP status 401');
        const hint = refused ? NEEDS_CERTIFICATE : 'is --address the HTTP port of pilot-discovery?';
        throw new MeshError(code, `pilot-discovery at ${address}: ${message}; ${hint}`, thrown);
      }
    },
  };
}
