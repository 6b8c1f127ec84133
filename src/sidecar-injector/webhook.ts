/** The webhook: admission reviews of pods in, the same with a patch out. */
import { type InjectionContext, injectPod } from '../injection/inject.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from '../io/http/types.ts';
import type { Logger } from '../io/log/logger.ts';
import { formatProblem, MeshError } from '../lib/errors.ts';
import { type AdmissionRequest, answerReview, readReview, salvageReview, type Verdict } from './review.ts';

export const INJECT_PATH = '/inject';
/** The API server takes objects of up to 3 MiB, and creates none from a pair of an old and a new one. */
export const MAX_REVIEW_BYTES = 4 << 20;
/** Of all reviews that are being received. */
const MAX_BYTES_AT_ONCE = 64 << 20;

/** Serves `POST /inject`. The context is asked for at every review, so that a configuration that changed decides at once. */
export function injectHandler(context: () => InjectionContext, logger: Logger): HttpHandler {
  let receiving = 0;
  return async (request) => {
    if (request.path !== INJECT_PATH) return plain(404, `there is no page ${request.path}; reviews are taken at ${INJECT_PATH}`);
    if (request.method !== 'POST') return plain(405, `reviews are posted to ${INJECT_PATH}`, { allow: 'POST' });
    if (mediaType(request) !== 'application/json') return plain(415, 'a review has the content type application/json');
    const size = announcedSize(request);
    if (receiving + size > MAX_BYTES_AT_ONCE) return plain(503, 'too many reviews at once; try again', { 'retry-after': '1' });
    receiving += size;
    const body = await request.body().finally(() => {
      receiving -= size;
    });
    if (body.length === 0) return plain(400, 'the body is empty; an AdmissionReview in JSON is expected');
    return json(review(body.toString('utf8'), context(), logger));
  };
}

function review(text: string, context: InjectionContext, logger: Logger): unknown {
  const parsed = readReview(text);
  if (parsed.ok) return answerReview(parsed.value, decide(parsed.value, context, logger));
  const message = parsed.problems.map(formatProblem).join('; ');
  logger.warn('a review cannot be read', { problem: message });
  return answerReview(salvageReview(text), { type: 'denied', message, code: 400 });
}

function decide(request: AdmissionRequest, context: InjectionContext, logger: Logger): Verdict {
  const { kind, operation, namespace, name, object } = request;
  // The webhook configuration asks for new pods only; whoever widens it must not be hurt.
  if (kind !== 'Pod' || operation !== 'CREATE') return { type: 'unchanged' };
  try {
    const result = injectPod(object, { name: namespace, chosen: { by: 'caller' } }, context);
    logger.debug('pod reviewed', { namespace, pod: name, outcome: result.type, reason: result.reason });
    return result.type === 'injected' ? { type: 'patched', patch: result.patch } : { type: 'unchanged' };
  } catch (thrown) {
    const error = MeshError.from(thrown);
    // A pod that cannot get its sidecar does not start without: it would be outside of every policy.
    logger.warn('pod refused', { namespace, pod: name, reason: error.message });
    return { type: 'denied', message: error.message, code: error.code === 'invalid' ? 400 : 500 };
  }
}

/** Bytes; as many as there may be where the client does not say. */
function announcedSize(request: HttpRequest): number {
  const length = Number(request.headers.get('content-length') ?? Number.NaN);
  return length >= 0 && length < MAX_REVIEW_BYTES ? length : MAX_REVIEW_BYTES;
}

function mediaType(request: HttpRequest): string {
  return (request.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

function json(value: unknown): HttpResponse {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) };
}

function plain(status: number, message: string, headers: Readonly<Record<string, string>> = {}): HttpResponse {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8', ...headers }, body: `${message}\n` };
}
