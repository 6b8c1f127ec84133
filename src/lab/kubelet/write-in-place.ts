import { closeSync, constants, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Changes a file's content and keeps the file itself, because a bind mount of it would go on showing the old one. The new
 * content is written over the old before the rest is cut off, so that a reader never finds the file empty.
 */
export function writeInPlace(path: string, text: string): void {
  if (contentOf(path) === text) return;
  mkdirSync(dirname(path), { recursive: true });
  const fd = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o644);
  try {
    const bytes = Buffer.from(text);
    writeSync(fd, bytes, 0, bytes.length, 0);
    ftruncateSync(fd, bytes.length);
  } finally {
    closeSync(fd);
  }
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
