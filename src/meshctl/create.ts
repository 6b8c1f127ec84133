import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import { MeshError } from '../lib/errors.ts';
import type { writeFlags } from './flags.ts';
import { writeManifests } from './write.ts';

/** `meshctl create`: stores objects that do not exist yet. */
export function runCreate(invocation: Invocation<typeof writeFlags>, host: Host): Promise<number> {
  return writeManifests(invocation, host, async (store, { object }) => {
    try {
      await store.create(object);
      return 'created';
    } catch (error) {
      if (!(error instanceof MeshError) || error.code !== 'already_exists') throw error;
      throw new MeshError('already_exists', `${error.message}; use "replace" to change it`, error);
    }
  });
}
