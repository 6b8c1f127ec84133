import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import { MeshError, type Problem } from '../lib/errors.ts';
import type { KubeObject } from '../model/object.ts';
import type { Manifest } from '../model/parse/manifests.ts';
import { validateObject } from '../model/parse/validate.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import { refOf } from '../sources/store/stored-object.ts';
import { carryOver } from './carry-over.ts';
import type { writeFlags } from './flags.ts';
import { readInput, refuseInput } from './input.ts';
import { policyWarningsFor } from './policy-warnings.ts';
import { typeName } from './resource-types.ts';
import { reviewRuleManifests } from './rule-review.ts';
import { warn, withStore } from './session.ts';

/** Stores one manifest; gives the word for what was done: `created`, `replaced`. */
export type WriteOne = (store: ObjectStore, manifest: Manifest) => Promise<string>;

/**
 * What create, replace and apply have in common: every manifest is checked before the first one is stored; then each is stored, and
 * one that fails does not keep the others from being stored. Exit code 1 if any failed.
 */
export async function writeManifests({ options }: Invocation<typeof writeFlags>, host: Host, write: WriteOne): Promise<number> {
  const { filename: filenames, namespace, orchconfig } = options;
  return withStore(orchconfig, host, async (store) => {
    const validate = (object: KubeObject): readonly Problem[] => validateObject(object, host.names);
    const input = await readInput({ filenames, namespace, validate }, host);
    if (!input.ok) return refuseInput(input.problems, host);
    const manifests = input.value;
    const rules = await reviewRuleManifests(manifests, store, host.names);
    if (rules.refused.length > 0) return refuseInput(rules.refused, host);
    const written: Manifest[] = [];
    for (const manifest of manifests) if (await tryWrite(store, manifest, host, write)) written.push(manifest);
    for (const message of rules.warnings) warn(host, message);
    for (const message of await policyWarningsFor(written, store, host.names)) warn(host, message);
    return written.length === manifests.length ? 0 : 1;
  });
}

async function tryWrite(store: ObjectStore, manifest: Manifest, host: Host, write: WriteOne): Promise<boolean> {
  try {
    const done = await write(store, manifest);
    host.stdout.write(`${typeName(manifest.kind)}/${manifest.object.metadata.name} ${done}\n`);
    return true;
  } catch (error) {
    host.stderr.write(`error: ${manifest.file}:${manifest.line}: ${MeshError.from(error).message}\n`);
    return false;
  }
}

const ATTEMPTS = 5;

/**
 * Puts a manifest in the place of the stored object; gives the object before and after. A manifest that names no version is made
 * to follow whatever is stored, however often that changes meanwhile. Throws `not_found`.
 */
export async function replaceStored(
  store: ObjectStore,
  { kind, object }: Manifest,
): Promise<{ before: KubeObject; after: KubeObject }> {
  const named = object.metadata.resourceVersion;
  for (let attempt = 1; ; attempt++) {
    const before = await store.get(refOf({ kind, object }));
    const next = carryOver(object, before);
    const resourceVersion = named || before.metadata.resourceVersion;
    const metadata = resourceVersion === undefined ? next.metadata : { ...next.metadata, resourceVersion };
    try {
      return { before, after: await store.replace({ ...next, metadata }) };
    } catch (error) {
      const isRace = error instanceof MeshError && error.code === 'conflict' && !named;
      if (!isRace || attempt === ATTEMPTS) throw error;
    }
  }
}
