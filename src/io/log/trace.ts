/** Where a log line comes from: the caller's file and line, and the stack above it. */
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

export interface Trace {
  /** `file:line`, with the file's last folder: `pilot-discovery/main.ts:40`. */
  readonly caller?: string;
  /** One frame a line. */
  readonly stack?: string;
}

const POSITION = /((?:file:\/\/)?\/[^\s()]+):(\d+):(\d+)/;
const CALLER = /([^\s()/]+(?:\/[^\s()/]+)?:\d+):\d+\)?$/;

/** What called `from`, as far as it is wanted. */
export function traceOf(from: (...args: never[]) => unknown, wantsCaller: boolean, wantsStack: boolean): Trace {
  if (!wantsCaller && !wantsStack) return {};
  const held: { stack?: string } = {};
  Error.captureStackTrace(held, from);
  const frames = (held.stack ?? '')
    .split('\n')
    .slice(1)
    .map((frame) => frame.replace(POSITION, (_, file, line, column) => sourcePosition(file, Number(line), Number(column))));
  const caller = CALLER.exec(frames[0] ?? '')?.[1];
  return {
    ...(wantsCaller && caller !== undefined ? { caller } : {}),
    ...(wantsStack ? { stack: frames.join('\n') } : {}),
  };
}

/**
 * The position in the source that a position in the bundle stands for. Node would do this by itself only for files that it
 * loaded after being told so, and levels change while a component runs.
 */
function sourcePosition(file: string, line: number, column: number): string {
  const path = file.startsWith('file:') ? fileURLToPath(file) : file;
  const origin = sourceMapOf(path)?.findOrigin(line, column);
  if (origin === undefined || !('fileName' in origin)) return `${path}:${line}:${column}`;
  // Relative to where the bundle was built, which says nothing where it runs: the part below is the source's own path.
  return `${origin.fileName.replace(/^(\.\.\/)+/, '')}:${origin.lineNumber}:${origin.columnNumber}`;
}

const sourceMaps = new Map<string, SourceMap | undefined>();

function sourceMapOf(path: string): SourceMap | undefined {
  if (!sourceMaps.has(path)) sourceMaps.set(path, readSourceMap(path));
  return sourceMaps.get(path);
}

function readSourceMap(path: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')));
  } catch {
    // Sources that run as they are have no map; their positions are right already.
    return undefined;
  }
}
