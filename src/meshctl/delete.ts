import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import { MeshError, type Parsed } from '../lib/errors.ts';
import type { ObjectRef } from '../model/object.ts';
import { DEFAULT_NAMESPACE } from '../model/parse/object.ts';
import { allKinds } from '../rules/config/kinds.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import { refOf } from '../sources/store/stored-object.ts';
import type { deleteFlags } from './flags.ts';
import { readInput, refuseInput } from './input.ts';
import { resolveType, typeName } from './resource-types.ts';
import { withStore } from './session.ts';

/** `meshctl delete`: removes the objects that manifests or TYPE and NAME words name. Exit code 1 if any could not be removed. */
export function runDelete(invocation: Invocation<typeof deleteFlags>, host: Host): Promise<number> {
  return withStore(invocation.options.orchconfig, host, async (store) => {
    const refs = await refsOf(invocation, host);
    if (!refs.ok) return refuseInput(refs.problems, host);
    let failed = false;
    for (const ref of refs.value) failed = !(await tryDelete(store, ref, host)) || failed;
    return failed ? 1 : 0;
  });
}

/** What is deleted need not be valid, only named. */
async function refsOf({ options, args }: Invocation<typeof deleteFlags>, host: Host): Promise<Parsed<readonly ObjectRef[]>> {
  const { filename: filenames, namespace } = options;
  if (filenames.length === 0) return { ok: true, value: namedRefs(args, namespace, host) };
  if (args.length > 0) throw new MeshError('usage', 'give manifests (-f) or TYPE and NAME, not both');
  const input = await readInput({ filenames, namespace, validate: () => [] }, host);
  return input.ok ? { ok: true, value: input.value.map(refOf) } : input;
}

function namedRefs(args: readonly string[], namespace: string, host: Host): readonly ObjectRef[] {
  const [type, ...names] = args.flatMap((word, index) => (index === 0 ? word.split('/') : [word]));
  if (type === undefined) throw new MeshError('usage', 'nothing named to delete; give -f, or TYPE and NAME');
  if (names.length === 0) throw new MeshError('usage', `no name given; which ${type} is to be deleted?`);
  const kind = resolveType(type, allKinds(host.names));
  return names.map((name) => (kind.namespaced ? { kind, namespace: namespace || DEFAULT_NAMESPACE, name } : { kind, name }));
}

async function tryDelete(store: ObjectStore, ref: ObjectRef, host: Host): Promise<boolean> {
  try {
    await store.delete(ref);
    host.stdout.write(`${typeName(ref.kind)} "${ref.name}" deleted\n`);
    return true;
  } catch (error) {
    host.stderr.write(`error: ${MeshError.from(error).message}\n`);
    return false;
  }
}
