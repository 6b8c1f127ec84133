import type { Problem } from '../../lib/errors.ts';
import { contentOffset, findOffset, indexPositions, lineAt } from './positions.ts';
import { readYaml } from './yaml.ts';

/** One document of a YAML or JSON text. */
export interface SourceDocument {
  readonly value: unknown;
  /** 1-based line in the whole text of a JSON path, or of the nearest part around it that is written down. */
  lineOf(path: string): number;
}

/** A piece of a text between two document separators, the separator before it included. */
export interface Chunk {
  readonly text: string;
  /** 1-based line that the piece begins at. */
  readonly line: number;
}

export interface ReadDocuments {
  readonly documents: readonly SourceDocument[];
  readonly problems: readonly Problem[];
}

const MARKER = /^(?:---|\.\.\.)(?=[ \t\r\n]|$)/gm;
const ONLY_DIRECTIVES = /^(?:[ \t]*(?:#.*)?\r?\n|%.*\r?\n)*$/;

/**
 * Cuts a text at its document separators, which YAML allows nowhere else at the start of a line. The pieces together are the
 * text; each holds at most one document.
 */
export function splitDocuments(text: string): readonly Chunk[] {
  const cuts: number[] = [];
  let begin = 0;
  for (const match of text.matchAll(MARKER)) {
    const isEnd = match[0] === '...';
    const cut = isEnd ? endOfLine(text, match.index) : match.index;
    const before = text.slice(begin, cut);
    const onlyDirectives = !isEnd && before.includes('%') && ONLY_DIRECTIVES.test(before);
    if (cut === begin || cut >= text.length || onlyDirectives) continue;
    cuts.push(cut);
    begin = cut;
  }
  return chunksAt(text, cuts);
}

function chunksAt(text: string, cuts: readonly number[]): readonly Chunk[] {
  const chunks: Chunk[] = [];
  let line = 1;
  let begin = 0;
  for (const end of [...cuts, text.length]) {
    const piece = text.slice(begin, end);
    chunks.push({ text: piece, line });
    line += lineAt(piece, piece.length) - 1;
    begin = end;
  }
  return chunks;
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end + 1;
}

/** Reads one piece; `problems` has at most the one that stopped the reader. */
export function readChunk(chunk: Chunk): ReadDocuments {
  const read = readYaml(chunk.text);
  if (!read.ok) return { documents: [], problems: [{ ...read.problem, line: lineWithin(chunk, read.problem.line ?? 1) }] };
  const { events, values } = read.value;
  const documents = values.map((value, index) => {
    let offsets: ReadonlyMap<string, number> | undefined;
    const lineOf = (path: string): number => {
      if (path === '') return lineAt(chunk.text, contentOffset(events, index)) + chunk.line - 1;
      offsets ??= indexPositions(chunk.text, events, index);
      return lineAt(chunk.text, findOffset(offsets, path)) + chunk.line - 1;
    };
    return { value, lineOf };
  });
  return { documents, problems: [] };
}

/** A reader that stops at the end stands on the line after the last one. */
function lineWithin(chunk: Chunk, line: number): number {
  return chunk.line - 1 + Math.min(line, lineAt(chunk.text, chunk.text.trimEnd().length));
}

/** Reads every document of a text. One that cannot be read does not keep the others from being read. */
export function readDocuments(text: string): ReadDocuments {
  const read = splitDocuments(text).map(readChunk);
  return { documents: read.flatMap((chunk) => chunk.documents), problems: read.flatMap((chunk) => chunk.problems) };
}

/** Adds to a problem of a document where it is: the file and the line. */
export function locate(problem: Problem, document: SourceDocument, file: string | undefined): Problem {
  const line = document.lineOf(problem.path);
  return file === undefined ? { ...problem, line } : { ...problem, file, line };
}
