import { load } from 'js-yaml';
import { MeshError } from '../../lib/errors.ts';

const LIMIT_MS = 5_000;
const MAX_BYTES = 10 * 1024 * 1024;

/**
 * The entries behind a URL: one a line (empty lines and those that begin with # are none), or YAML with the entries in `whitelist` or
 * `blacklist`.
 *
 * @throws MeshError `unavailable`, `resource_exhausted` or `invalid`
 */
export async function fetchList(url: string, signal: AbortSignal): Promise<readonly string[]> {
  const response = await fetch(url, {
    signal: AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]),
    redirect: 'follow',
  }).catch((thrown: unknown) => {
    throw new MeshError('unavailable', `${url} does not answer: ${reasonOf(thrown)}`, thrown);
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new MeshError('unavailable', `${url} answers ${response.status}`);
  }
  return parseList(await boundedText(response, url));
}

export function parseList(text: string): readonly string[] {
  return /^(?:whitelist|blacklist)\s*:/m.test(text) ? yamlEntries(text) : plainEntries(text);
}

function plainEntries(text: string): readonly string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}

function yamlEntries(text: string): readonly string[] {
  const document: unknown = load(text);
  const lists = typeof document === 'object' && document !== null ? Object.values(document) : [];
  const entries: unknown[] = lists.flat();
  if (entries.every((entry) => typeof entry === 'string')) return entries;
  throw new MeshError('invalid', 'the list has entries that are no text; put them in quotes');
}

async function boundedText(response: Response, url: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new MeshError('resource_exhausted', `${url} answers more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  if (thrown.name === 'TimeoutError') return `nothing in ${LIMIT_MS / 1000} s`;
  return thrown.cause instanceof Error ? thrown.cause.message : thrown.message;
}
