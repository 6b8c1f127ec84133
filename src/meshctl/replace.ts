import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import { MeshError } from '../lib/errors.ts';
import type { writeFlags } from './flags.ts';
import { replaceStored, writeManifests } from './write.ts';

/** `meshctl replace`: changes objects that exist. */
export function runReplace(invocation: Invocation<typeof writeFlags>, host: Host): Promise<number> {
  return writeManifests(invocation, host, async (store, manifest) => {
    try {
      await replaceStored(store, manifest);
      return 'replaced';
    } catch (error) {
      if (!(error instanceof MeshError) || error.code !== 'not_found') throw error;
      throw new MeshError('not_found', `${error.message}; use "create" to store it`, error);
    }
  });
}
