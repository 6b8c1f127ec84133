import { readFile } from 'node:fs/promises';

/** A swap that lasts longer is seen as a change anyway. */
const MAX_READS = 5;

/**
 * The texts of files that belong together, such as a key and its certificate, as they were at one time: read again until two readings agree, for a projected volume is
 * swapped as a whole between any two of them. Rejects with what `read` rejects with.
 */
export async function readTogether(
  paths: readonly string[],
  read: (path: string) => Promise<string> = (path) => readFile(path, 'utf8'),
): Promise<readonly string[]> {
  const readAll = (): Promise<readonly string[]> => Promise.all(paths.map(read));
  let texts = await readAll();
  for (let reads = 1; reads < MAX_READS && paths.length > 1; reads += 1) {
    const again = await readAll();
    if (again.every((text, index) => text === texts[index])) break;
    texts = again;
  }
  return texts;
}
