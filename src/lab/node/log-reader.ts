/** Reads the log of a container, as far as it goes or while it grows. */
import { type FileHandle, open, stat } from 'node:fs/promises';
import { type Duration, milliseconds } from '../../lib/duration.ts';
import type { LogRequest } from './log-request.ts';

const CHUNK = 64 * 1024;
const POLL: Duration = milliseconds(200);
const NEWLINE = 10;

export interface LogReading {
  /** Whether more may come. */
  readonly isRunning: () => boolean;
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
}

/** Yields the log in pieces; a file that is not there reads as empty. Ends with the signal, and rejects then if it waits. */
export async function* readLog(
  path: string,
  { follow, tailLines, limitBytes }: Pick<LogRequest, 'follow' | 'tailLines' | 'limitBytes'>,
  { isRunning, sleep, signal }: LogReading,
): AsyncGenerator<Uint8Array, void, undefined> {
  let left = limitBytes ?? Number.POSITIVE_INFINITY;
  let offset = tailLines === undefined ? 0 : await tailOffset(path, tailLines);
  while (left > 0 && !signal.aborted) {
    // Asked first: what a program prints before its end is there once it has ended.
    const isLast = !follow || !isRunning();
    const size = await sizeOf(path);
    // A full log was put aside and a new one begun.
    if (size < offset) offset = 0;
    for (const end = size; offset < end && left > 0; ) {
      const piece = await readPiece(path, offset, Math.min(CHUNK, end - offset, left));
      if (piece.length === 0) break;
      offset += piece.length;
      left -= piece.length;
      yield piece;
    }
    if (isLast) return;
    await sleep(POLL, signal);
  }
}

/** Where the last lines of a file begin. A text after the last newline is a line. */
async function tailOffset(path: string, lines: number): Promise<number> {
  const size = await sizeOf(path);
  let wanted = lines;
  for (let end = size; end > 0; end -= Math.min(CHUNK, end)) {
    const start = Math.max(0, end - CHUNK);
    const piece = await readPiece(path, start, end - start);
    for (let at = piece.length - 1; at >= 0; at -= 1) {
      if (piece[at] !== NEWLINE || start + at === size - 1) continue;
      if (wanted <= 1) return wanted === 0 ? size : start + at + 1;
      wanted -= 1;
    }
  }
  return lines === 0 ? size : 0;
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

async function readPiece(path: string, offset: number, length: number): Promise<Uint8Array> {
  let file: FileHandle | undefined;
  try {
    file = await open(path);
    const { buffer, bytesRead } = await file.read(new Uint8Array(length), 0, length, offset);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file?.close();
  }
}
