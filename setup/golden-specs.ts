import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a spec reads to write the files that it otherwise compares with. */
export const UPDATE_VARIABLE = 'UPDATE_GOLDEN';

/** The specs below a directory that have golden files, sorted; all others have nothing to rewrite and are left out. */
export function goldenSpecs(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(directory, name))
    .filter((path) => readFileSync(path, 'utf8').includes(`process.env['${UPDATE_VARIABLE}']`))
    .sort();
}
