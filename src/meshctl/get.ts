import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import { MeshError } from '../lib/errors.ts';
import type { KubeObject, ResourceKind } from '../model/object.ts';
import { DEFAULT_NAMESPACE } from '../model/parse/object.ts';
import { printYaml } from '../model/parse/yaml.ts';
import { printTable } from '../proxy-dump/table.ts';
import { allKinds } from '../rules/config/kinds.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import { formatAge } from './age.ts';
import type { getFlags } from './flags.ts';
import { resolveType } from './resource-types.ts';
import { warnOfStoreProblems, withStore } from './session.ts';

/**
 * `meshctl get TYPE [NAME...]`: a table, YAML or JSON. An empty result is no failure; it is told on standard output, as the table
 * would be.
 */
export function runGet({ options, args }: Invocation<typeof getFlags>, host: Host): Promise<number> {
  const [type = '', ...names] = args.flatMap((word, index) => (index === 0 ? word.split('/') : [word]));
  const kind = resolveType(type, allKinds(host.names));
  const everywhere = options['all-namespaces'];
  if (everywhere && names.length > 0) throw new MeshError('usage', 'give names or -A, not both: a name is of one namespace');
  return withStore(options.orchconfig, host, async (store) => {
    const namespace = kind.namespaced && !everywhere ? options.namespace || DEFAULT_NAMESPACE : undefined;
    const objects = names.length > 0 ? await getNamed(store, kind, namespace, names) : await store.list(kind, namespace);
    warnOfStoreProblems(store, host);
    host.stdout.write(
      print(
        objects,
        { output: options.output, single: names.length === 1, everywhere: everywhere && kind.namespaced, namespace },
        host.now(),
      ),
    );
    return 0;
  });
}

function getNamed(
  store: ObjectStore,
  kind: ResourceKind,
  namespace: string | undefined,
  names: readonly string[],
): Promise<readonly KubeObject[]> {
  return Promise.all(names.map((name) => store.get(namespace === undefined ? { kind, name } : { kind, namespace, name })));
}

interface PrintOptions {
  readonly output: string;
  /** Whether one object was asked for by its name, which then is the document itself. */
  readonly single: boolean;
  readonly everywhere: boolean;
  /** Undefined: it was not one namespace that was asked for. */
  readonly namespace: string | undefined;
}

function print(objects: readonly KubeObject[], { output, single, everywhere, namespace }: PrintOptions, now: Date): string {
  if (output !== 'table') {
    const value = single ? objects[0] : { apiVersion: 'v1', kind: 'List', items: objects };
    return output === 'json' ? `${JSON.stringify(value, null, 4)}\n` : printYaml(value);
  }
  if (objects.length === 0)
    return namespace === undefined ? 'No resources found.\n' : `No resources found in ${namespace} namespace.\n`;
  const header = [...(everywhere ? ['NAMESPACE'] : []), 'NAME', 'AGE'];
  const rows = objects.map(({ metadata }) => [
    ...(everywhere ? [metadata.namespace ?? ''] : []),
    metadata.name,
    formatAge(metadata.creationTimestamp, now),
  ]);
  return printTable([header, ...rows]);
}
