import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes a file of manifests, in place of one of the same name; nobody reads a half of it. */
export function manifest(dir: string, file: string, ...objects: readonly object[]): void {
  mkdirSync(dir, { recursive: true });
  const path = join(dir, file);
  writeFileSync(`${path}.new`, objects.map((object) => JSON.stringify(object)).join('\n---\n'));
  renameSync(`${path}.new`, path);
}
