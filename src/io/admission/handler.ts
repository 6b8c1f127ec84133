/** An admission webhook over HTTP: reviews in, answers out. What is decided is its owner's. */
import { formatProblem } from '../../lib/errors.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from '../http/types.ts';
import type { Logger } from '../log/logger.ts';
import { type AdmissionRequest, answerReview, readReview, salvageReview, type Verdict } from './review.ts';

/** The API server takes objects of up to 3 MiB, and creates none from a pair of an old and a new one. */
export const MAX_REVIEW_BYTES = 4 << 20;
/** Of all reviews that are being received. */
const MAX_BYTES_AT_ONCE = 64 << 20;

export interface ReviewHandlerOptions {
  /** The only path that reviews are taken at. */
  readonly path: string;
  /** Must not throw. */
  readonly decide: (request: AdmissionRequest) => Verdict;
  readonly logger: Logger;
}

/** Serves `POST <path>` as the API server calls it. */
export function reviewHandler({ path, decide, logger }: ReviewHandlerOptions): HttpHandler {
  let receiving = 0;

  function review(text: string): unknown {
    const parsed = readReview(text);
    if (parsed.ok) return answerReview(parsed.value, decide(parsed.value));
    const message = parsed.problems.map(formatProblem).join('; ');
    logger.warn('a review cannot be read', { problem: message });
    return answerReview(salvageReview(text), { type: 'denied', message, code: 400 });
  }

  return async (request) => {
    if (request.path !== path) return plain(404, `there is no page ${request.path}; reviews are taken at ${path}`);
    if (request.method !== 'POST') return plain(405, `reviews are posted to ${path}`, { allow: 'POST' });
    if (mediaType(request) !== 'application/json') return plain(415, 'a review has the content type application/json');
    const size = announcedSize(request);
    if (receiving + size > MAX_BYTES_AT_ONCE) return plain(503, 'too many reviews at once; try again', { 'retry-after': '1' });
    receiving += size;
    const body = await request.body().finally(() => {
      receiving -= size;
    });
    if (body.length === 0) return plain(400, 'the body is empty; an AdmissionReview in JSON is expected');
    return json(review(body.toString('utf8')));
  };
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
