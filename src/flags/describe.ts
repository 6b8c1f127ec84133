import { handle, run } from '@oclif/core';

/**
 * Lets oclif answer: help of any command, and the commands of its plugins (completion).
 * @param root the folder of package.json and oclif.manifest.json
 */
export async function describe(words: readonly string[], root: string): Promise<void> {
  try {
    await run([...words], { root });
  } catch (error) {
    await handle(error instanceof Error ? error : new Error(String(error)));
  }
}
