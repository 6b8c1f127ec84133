/**
 * The webhook of `--webhookEndpoint`: it is shown every set of resources once, before the set is delivered, and may put another in its place.
 * Sets are shared by all proxies that get the same, so a thousand proxies cost one call. See docs/decisions/webhook.md.
 */
import { hash } from 'node:crypto';
import type { Change, ConfigSource, ProxyNode, ResourceSet, TypeUrl } from '../delivery/ports.ts';
import type { Logger } from '../io/log/logger.ts';
import { MeshError } from '../lib/errors.ts';
import { readAnswer, writeResponse } from './webhook-answer.ts';
import { createWebhookClient, type WebhookClient } from './webhook-client.ts';
import type { WebhookEndpoint } from './webhook-endpoint.ts';

export type WebhookResult = 'replaced' | 'unchanged' | 'timed_out' | 'failed' | 'invalid' | 'skipped';

export interface WebhookDeps {
  readonly source: ConfigSource;
  readonly client: WebhookClient;
  readonly hash: (bytes: Uint8Array) => string;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  readonly onResult: (result: WebhookResult) => void;
  readonly logger: Logger;
}

/** What became of a set. */
type Verdict =
  | { readonly type: 'settled'; readonly set: ResourceSet | undefined }
  /** Delivered as it was; shown again after this time. */
  | { readonly type: 'failed'; readonly until: number }
  | { readonly type: 'pending'; readonly done: Promise<void> };

const MAX_VERDICTS = 4_096;
const RETRY_MS = 10_000;
/** So many failures in a row, and the webhook is left alone for a time: a dead one must not delay every change. */
const FAILURES = 3;
const PAUSE_MS = 5_000;
const LOG_EVERY_MS = 10_000;

export class WebhookSource implements ConfigSource {
  readonly #deps: WebhookDeps;
  /** By type and content; least recently used first. */
  readonly #verdicts = new Map<string, Verdict>();
  #failures = 0;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #loggedAt = Number.NEGATIVE_INFINITY;
  #unlogged = 0;

  constructor(deps: WebhookDeps) {
    this.#deps = deps;
  }

  get sequence(): number {
    return this.#deps.source.sequence;
  }

  onChange(listener: (change: Change) => void): () => void {
    return this.#deps.source.onChange(listener);
  }

  prepare(node: ProxyNode, typeUrl: TypeUrl): Promise<void> | undefined {
    const set = this.#set(node, typeUrl);
    const known = this.#recall(set);
    switch (known?.type) {
      case 'pending':
        return known.done;
      case 'settled':
        return undefined;
      case 'failed':
        if (this.#deps.now() < known.until) return undefined;
    }
    if (this.#deps.now() < this.#pausedUntil) {
      this.#deps.onResult('skipped');
      this.#remember(set, { type: 'failed', until: this.#pausedUntil });
      return undefined;
    }
    const done = this.#review(node, set);
    this.#remember(set, { type: 'pending', done });
    return done;
  }

  resources(node: ProxyNode, typeUrl: TypeUrl): ResourceSet {
    const set = this.#set(node, typeUrl);
    const known = this.#recall(set);
    return known?.type === 'settled' ? (known.set ?? set) : set;
  }

  /** A webhook sees route tables whole, so they are delivered whole. */
  #set(node: ProxyNode, typeUrl: TypeUrl): ResourceSet {
    return this.#deps.source.resources(node, typeUrl, 'coarse');
  }

  async #review(node: ProxyNode, set: ResourceSet): Promise<void> {
    const { client, hash, now, onResult } = this.#deps;
    try {
      const answer = await client.call(node.id, writeResponse(set));
      const replaced = readAnswer(answer, set, hash);
      this.#failures = 0;
      onResult(replaced === undefined ? 'unchanged' : 'replaced');
      this.#remember(set, { type: 'settled', set: replaced });
    } catch (thrown) {
      this.#remember(set, { type: 'failed', until: now() + RETRY_MS });
      this.#failed(MeshError.from(thrown, 'invalid'), set);
    }
  }

  #failed(error: MeshError, set: ResourceSet): void {
    const { now, onResult, logger } = this.#deps;
    onResult(resultOf(error));
    this.#failures += 1;
    if (this.#failures >= FAILURES) this.#pausedUntil = now() + PAUSE_MS;
    this.#unlogged += 1;
    if (now() - this.#loggedAt < LOG_EVERY_MS) return;
    this.#loggedAt = now();
    logger.warn('webhook failed; responses are delivered as they were', {
      type: set.typeUrl,
      reason: error.message,
      failures: this.#unlogged,
    });
    this.#unlogged = 0;
  }

  #recall(set: ResourceSet): Verdict | undefined {
    const known = this.#verdicts.get(keyOf(set));
    if (known !== undefined) this.#remember(set, known);
    return known;
  }

  #remember(set: ResourceSet, verdict: Verdict): void {
    const key = keyOf(set);
    this.#verdicts.delete(key);
    this.#verdicts.set(key, verdict);
    for (const [oldest, { type }] of this.#verdicts) {
      if (this.#verdicts.size <= MAX_VERDICTS) break;
      if (type !== 'pending') this.#verdicts.delete(oldest);
    }
  }
}

const keyOf = ({ typeUrl, version }: ResourceSet): string => `${typeUrl} ${version}`;

function resultOf(error: MeshError): WebhookResult {
  switch (error.code) {
    case 'deadline_exceeded':
      return 'timed_out';
    case 'invalid':
      return 'invalid';
    default:
      return 'failed';
  }
}

export interface WebhookOptions {
  readonly endpoint: WebhookEndpoint;
  readonly source: ConfigSource;
  readonly onResult: (result: WebhookResult) => void;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** What the source says, after the webhook has seen it. */
export function withWebhook({ endpoint, signal, ...options }: WebhookOptions): ConfigSource {
  const client = createWebhookClient(endpoint);
  signal.addEventListener('abort', () => client.close(), { once: true });
  return new WebhookSource({
    ...options,
    client,
    hash: (bytes) => hash('sha1', bytes, 'base64url'),
    now: () => performance.now(),
  });
}
