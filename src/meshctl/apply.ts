import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import { MeshError } from '../lib/errors.ts';
import type { writeFlags } from './flags.ts';
import { replaceStored, writeManifests } from './write.ts';

/**
 * `meshctl apply`: makes the store say what the manifests say, whether the objects exist or not. A manifest is the whole object:
 * fields that it leaves out go away, so that removing `peers` from a policy removes them.
 */
export function runApply(invocation: Invocation<typeof writeFlags>, host: Host): Promise<number> {
  return writeManifests(invocation, host, async (store, manifest) => {
    try {
      const { before, after } = await replaceStored(store, manifest);
      return before.metadata.resourceVersion === after.metadata.resourceVersion ? 'unchanged' : 'configured';
    } catch (error) {
      if (!(error instanceof MeshError) || error.code !== 'not_found') throw error;
      await store.create(manifest.object);
      return 'created';
    }
  });
}
