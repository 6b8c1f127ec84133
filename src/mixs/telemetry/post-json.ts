import type { Duration } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';

/** Nobody has to say more than that to a sender of telemetry. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** Of these a later try may get another answer, as OTLP/HTTP has it; any 5xx is one of them too. */
const COME_LATER = [408, 429];

/**
 * Posts JSON; gives the text of a 2xx answer.
 *
 * @throws MeshError `unavailable` or `deadline_exceeded` where a later try may help, `invalid` where the receiver refuses what it was sent
 */
export async function postJson(url: string, body: string, deadline: Duration, signal: AbortSignal): Promise<string> {
  const limit = AbortSignal.timeout(deadline);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, limit]),
    });
    const text = await boundedText(response);
    if (response.ok) return text;
    const isLater = response.status >= 500 || COME_LATER.includes(response.status);
    throw new MeshError(isLater ? 'unavailable' : 'invalid', `${url} answers ${response.status}: ${text.slice(0, 200)}`);
  } catch (thrown) {
    if (thrown instanceof MeshError) throw thrown;
    if (limit.aborted) throw new MeshError('deadline_exceeded', `${url} has not answered in ${deadline} ms`, thrown);
    const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
    throw new MeshError(
      'unavailable',
      `${url} does not answer: ${cause instanceof Error ? cause.message : String(cause)}`,
      thrown,
    );
  }
}

/** The beginning of a body; all of it is read or given up, so that the connection can serve again. */
async function boundedText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
