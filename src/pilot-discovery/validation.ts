/** The validating webhook: the API server asks it about policies before it stores them. Loaded only where it is served. */
import { MAX_REVIEW_BYTES, reviewHandler } from '../io/admission/handler.ts';
import type { AdmissionRequest, Verdict } from '../io/admission/review.ts';
import type { FollowedFiles } from '../io/file/follow-files.ts';
import { createHttpServer } from '../io/http/server.ts';
import { listenTls } from '../io/http/tls-listener.ts';
import type { Logger } from '../io/log/logger.ts';
import type { HostPort } from '../lib/address.ts';
import type { ResourceKind } from '../model/object.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import { keepCaBundle } from '../sources/webhook-ca-bundle.ts';
import type { ReviewResult } from './metrics.ts';
import type { TlsMaterial } from './tls-material.ts';

export const VALIDATION_PATH = '/validate';

export interface ValidationOptions {
  readonly address: HostPort;
  /** What the API server is to call us with. */
  readonly webhook: {
    readonly kind: ResourceKind;
    /** Name of the ValidatingWebhookConfiguration. */
    readonly configuration: string;
    /** Name of the entry in it. */
    readonly entry: string;
  };
  readonly store: ObjectStore;
  readonly tls: FollowedFiles<TlsMaterial>;
  readonly decide: (request: AdmissionRequest) => Verdict;
  readonly onReview: (result: ReviewResult) => void;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface Validation {
  /** The certificate files have changed. */
  refresh(): void;
  /** Finishes the reviews that run, for at most `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Rejects with a MeshError naming the address that cannot be had. */
export async function serveValidation(options: ValidationOptions): Promise<Validation> {
  const { address, webhook, store, tls, logger, signal } = options;
  const http = createHttpServer({
    handle: reviewHandler({ path: VALIDATION_PATH, decide: (request) => review(request, options), logger }),
    maxBodySize: MAX_REVIEW_BYTES,
    onError: (error, request) => logger.error('a review failed', { path: request.path, error: error.message }),
  });
  const accept = http.accept.bind(http);
  const listener = await listenTls({ ...address, keyPair: tls.value().keyPair, accept, logger });
  const bundle = keepCaBundle(tls.value().rootsPem, { store, ...webhook, logger, signal });
  logger.info('serving the validating webhook', { port: listener.port });
  return {
    refresh() {
      listener.use(tls.value().keyPair);
      bundle.use(tls.value().rootsPem);
    },
    async close(graceMs) {
      listener.close();
      await http.close(graceMs);
    },
  };
}

function review(request: AdmissionRequest, { decide, onReview, logger }: ValidationOptions): Verdict {
  const verdict = decide(request);
  const isRefused = verdict.type === 'denied';
  onReview(isRefused ? 'refused' : 'taken');
  if (isRefused) {
    const { kind, namespace, name } = request;
    logger.info('policy refused', { kind, namespace, policy: name, reason: verdict.message });
  }
  return verdict;
}
