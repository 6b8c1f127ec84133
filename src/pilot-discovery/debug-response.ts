/** Answers of the debug pages, in pieces where they can be large. */
import type { HttpResponse } from '../io/http/types.ts';

const PIECE_CHARS = 64 * 1024;
const JSON_TYPE = { 'content-type': 'application/json' };

export function json(value: unknown): HttpResponse {
  return { status: 200, headers: JSON_TYPE, body: `${JSON.stringify(value, undefined, 2)}\n` };
}

/** A JSON array whose elements are made one after the other, as the client reads. */
export function jsonList(elements: Iterable<unknown>): HttpResponse {
  return { status: 200, headers: JSON_TYPE, body: inPieces(listed(elements)) };
}

/** JSON that comes in pieces already. */
export function jsonText(pieces: Iterable<string>): HttpResponse {
  return { status: 200, headers: JSON_TYPE, body: inPieces(pieces) };
}

export function text(lines: Iterable<string>): HttpResponse {
  return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: inPieces(lines) };
}

/** The text of a JSON array, an element at a time. */
export function* listed(elements: Iterable<unknown>): Generator<string> {
  let separator = '[\n';
  for (const element of elements) {
    yield `${separator}${JSON.stringify(element, undefined, 2)}`;
    separator = ',\n';
  }
  yield separator === '[\n' ? '[]\n' : '\n]\n';
}

async function* inPieces(parts: Iterable<string>): AsyncGenerator<string> {
  let piece = '';
  for (const part of parts) {
    piece += part;
    if (piece.length < PIECE_CHARS) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}
