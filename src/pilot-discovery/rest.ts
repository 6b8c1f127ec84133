/** Joins REST discovery: the configuration as polling proxies need it, the cache of `--discovery_cache`, and who polls. */
import { hash } from 'node:crypto';
import { PollingProxies } from '../delivery/polling.ts';
import type { ConfigSource, DeliveryEvent } from '../delivery/ports.ts';
import { createRestHandler } from '../delivery/rest.ts';
import { AnswerCache, type CacheRead, type CacheStats } from '../delivery/rest-cache.ts';
import type { HttpHandler } from '../io/http/types.ts';
import { decodeResource } from '../xds/decode.ts';
import { createPolledResources } from '../xds/polled.ts';
import type { Admission } from './admission.ts';
import { createPolledSource } from './polled-source.ts';

const SWEEP_MS = 10_000;
/** A thousand proxies with thirty subscriptions each; their bodies are the same for most. */
const CACHE_LIMITS = { maxAnswers: 32_768, maxBodyBytes: 64 * 1024 * 1024 };

export interface RestDiscovery {
  readonly handle: HttpHandler;
  /** Undefined when answers are not cached. */
  readonly cacheStats: () => CacheStats | undefined;
}

export interface RestOptions {
  readonly source: ConfigSource;
  readonly cached: boolean;
  readonly admit: Admission;
  readonly observe: (event: DeliveryEvent) => void;
  readonly onCacheRead: (read: CacheRead) => void;
  readonly signal: AbortSignal;
}

export function createRestDiscovery({ source, cached, admit, observe, onCacheRead, signal }: RestOptions): RestDiscovery {
  const proxies = new PollingProxies({ observe, now: () => performance.now() });
  const sweeping = setInterval(() => proxies.sweep(), SWEEP_MS);
  signal.addEventListener('abort', () => clearInterval(sweeping), { once: true });
  const cache = cached ? new AnswerCache(CACHE_LIMITS, onCacheRead) : undefined;
  const polled = createPolledResources((bytes) => hash('sha1', bytes, 'base64url'));
  const handle = createRestHandler({
    source: createPolledSource(source, polled),
    proxies,
    toJson: decodeResource,
    admit: ({ remoteAddress: address, certificate }, node) => admit(node, { address, certificate }),
    ...(cache === undefined ? {} : { cache }),
  });
  return { handle, cacheStats: () => cache?.stats() };
}
