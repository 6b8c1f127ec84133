import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import type { Problem } from '../../lib/errors.ts';
import { isForOthers, type Kinds } from '../../model/kinds.ts';
import type { KubeObject } from '../../model/object.ts';
import { type Chunk, locate, readChunk, type SourceDocument, splitDocuments } from '../../model/parse/document.ts';
import { expandList, isMapping, type KindedObject, nestProblem, parseKind, parseObject } from '../../model/parse/object.ts';
import type { FoundFile } from './directory-scan.ts';
import { keyOf, type ValidateObject, withVersion } from './stored-object.ts';

/** One object as a file defines it, and where. */
export interface FileObject extends KindedObject {
  readonly key: string;
  /** Which piece of the file, in order. */
  readonly chunk: number;
  /** Which item of the List in that piece. */
  readonly item: number | undefined;
  readonly line: number;
}

/** What was read from a file. */
export interface FileContent {
  readonly signature: string;
  readonly objects: readonly FileObject[];
  readonly problems: readonly Problem[];
  /** Whether every document of the file could be understood. */
  readonly complete: boolean;
  readonly chunks: ReadonlyMap<string, ReadChunk>;
}

/** What was read from one piece; lines count from the piece's own first line, so that a piece that only moved is not read again. */
interface ReadChunk {
  readonly line: number;
  readonly createdAt: number;
  readonly objects: readonly Omit<FileObject, 'chunk'>[];
  readonly problems: readonly Problem[];
  readonly complete: boolean;
}

export interface FileParser {
  readonly kinds: Kinds;
  readonly validate: ValidateObject | undefined;
}

/** A larger file is reported instead of read. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** Reads the text of a file without following links or waiting for a pipe. Throws the system's error, or a text that says what is wrong. */
export function readText(path: string): string {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(descriptor);
    if (!stat.isFile()) throw new Error('not a regular file');
    if (stat.size > MAX_FILE_BYTES) throw new Error(`larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB`);
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(descriptor));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_ENCODING_INVALID_ENCODED_DATA') throw new Error('not UTF-8 text');
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** Understands the text of a file, taking over from what was read before the pieces that are the same. */
export function parseFile(
  text: string,
  file: FoundFile,
  name: string,
  before: FileContent | undefined,
  parser: FileParser,
): FileContent {
  const chunks = new Map<string, ReadChunk>();
  const objects: FileObject[] = [];
  const problems: Problem[] = [];
  let complete = true;
  for (const [position, chunk] of splitDocuments(text).entries()) {
    const hash = createHash('sha1').update(chunk.text).digest('base64');
    const known = before?.chunks.get(hash);
    const read =
      known !== undefined && known.createdAt === file.createdAt
        ? moved(known, chunk.line)
        : parseChunk(chunk, file, name, parser);
    chunks.set(hash, read);
    for (const object of read.objects) objects.push({ ...object, chunk: position });
    problems.push(...read.problems);
    complete &&= read.complete;
  }
  return { signature: file.signature, objects, problems, complete, chunks };
}

function moved(known: ReadChunk, line: number): ReadChunk {
  const shift = line - known.line;
  if (shift === 0) return known;
  const shifted = <T extends { readonly line?: number }>(thing: T): T =>
    thing.line === undefined ? thing : { ...thing, line: thing.line + shift };
  return { ...known, line, objects: known.objects.map(shifted), problems: known.problems.map(shifted) };
}

function parseChunk(chunk: Chunk, file: FoundFile, name: string, parser: FileParser): ReadChunk {
  const { documents, problems: unread } = readChunk(chunk);
  const objects: Omit<FileObject, 'chunk'>[] = [];
  const problems: Problem[] = unread.map((problem) => ({ ...problem, file: name }));
  let complete = problems.length === 0;
  for (const document of documents) {
    for (const { value, path, index } of expandList(document.value)) {
      const read = parseManifest(value, parser);
      problems.push(...read.problems.map((problem) => locate(nestProblem(problem, path), document, name)));
      complete &&= read.type !== 'broken';
      if (read.type === 'object') objects.push(place(read, document, path, index, file));
    }
  }
  return { line: chunk.line, createdAt: file.createdAt, objects, problems, complete };
}

type Manifest =
  | ({ readonly type: 'object'; readonly problems: readonly Problem[] } & KindedObject)
  /** Nothing of ours: reported, but no reason to distrust the file. */
  | { readonly type: 'foreign'; readonly problems: readonly Problem[] }
  | { readonly type: 'broken'; readonly problems: readonly Problem[] };

function parseManifest(value: unknown, { kinds, validate }: FileParser): Manifest {
  if (isMapping(value)) {
    const kind = parseKind(value, kinds);
    if (!kind.ok && typeof value.apiVersion === 'string' && typeof value.kind === 'string') {
      return { type: 'foreign', problems: isForOthers(kinds, value.apiVersion) ? [] : kind.problems };
    }
  }
  const parsed = parseObject(value, kinds);
  if (!parsed.ok) return { type: 'broken', problems: parsed.problems };
  const problems = validate?.(parsed.value.object) ?? [];
  return problems.length > 0 ? { type: 'broken', problems } : { type: 'object', problems, ...parsed.value };
}

function place(
  found: KindedObject,
  document: SourceDocument,
  path: string,
  item: number | undefined,
  file: FoundFile,
): Omit<FileObject, 'chunk'> {
  const key = keyOf(found.kind, found.object.metadata);
  const { uid, creationTimestamp, ...metadata } = found.object.metadata;
  const derived = {
    uid: uid ?? derivedUid(key),
    creationTimestamp: creationTimestamp ?? new Date(file.createdAt).toISOString().replace(/\.\d+Z$/, 'Z'),
  };
  const object = withVersion({ ...found.object, metadata: { ...metadata, ...derived } });
  return { kind: found.kind, object, key, item, line: document.lineOf(path) };
}

/** Whether a file gave this object no uid of its own, which those that the mesh made have: people wrote it. */
export function isWrittenByPeople({ metadata }: KubeObject): boolean {
  return metadata.uid?.[VERSION_AT] === DERIVED_VERSION;
}

/** The version digit of a UUID. */
const VERSION_AT = 14;
const DERIVED_VERSION = '8';

/** The uid of an object whose file gives none: the same in every process, as a name-based UUID (RFC 9562, version 8). */
function derivedUid(key: string): string {
  const hex = createHash('sha256').update(key).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
