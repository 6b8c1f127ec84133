import { Redacted } from '../../lib/redacted.ts';
import { scrub } from './scrub.ts';

/** Characters of one text that are logged: what a peer sends in a message must not fill the disk. */
const MAX_TEXT = 16_384;
const MAX_DEPTH = 16;

/**
 * A value that JSON can hold: errors by their message, bytes by their number only, secrets redacted, long texts cut, cycles
 * and what lies too deep left out.
 */
export function printable(value: unknown, parents: readonly unknown[] = []): unknown {
  if (typeof value === 'string') return printableText(value);
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return value;
  if (typeof value !== 'object') return printableText(String(value));
  if (value instanceof Redacted) return value.toString();
  if (value instanceof Error) return printableText(errorText(value));
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `<${value.byteLength} bytes>`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid date' : value.toISOString();
  if (parents.includes(value)) return '<cycle>';
  if (parents.length >= MAX_DEPTH) return '<deeper>';
  const path = [...parents, value];
  if (Array.isArray(value)) return value.map((item) => printable(item, path));
  if (value instanceof Set) return [...value].map((item) => printable(item, path));
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  return Object.fromEntries(entries.map(([name, item]) => [printableText(String(name)), printable(item, path)]));
}

/** Without secrets, and cut when it is too long. */
export function printableText(text: string): string {
  const clean = scrub(text);
  return clean.length <= MAX_TEXT ? clean : `${clean.slice(0, MAX_TEXT)}... (${clean.length - MAX_TEXT} more characters)`;
}

function errorText(error: Error): string {
  const cause = error.cause instanceof Error && !error.message.includes(error.cause.message) ? `: ${error.cause.message}` : '';
  return `${error.message}${cause}`;
}
