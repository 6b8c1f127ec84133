import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes a file of manifests, over one of the same name. */
export function manifest(dir: string, file: string, ...objects: readonly object[]): void {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, file), objects.map((object) => JSON.stringify(object)).join('\n---\n'));
}
