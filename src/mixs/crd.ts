import { dump } from 'js-yaml';
import type { FlagTable, Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import { ruleDefinitions } from '../rules/config/crds.ts';
import { CRD_PARTS } from './flags.ts';

/** Prints CustomResourceDefinitions as YAML documents, for `kubectl apply -f -`. */
export async function runCrd({ args }: Pick<Invocation<FlagTable>, 'args'>, { stdout, names }: Host): Promise<number> {
  const part = CRD_PARTS.find((name) => name === args[0]) ?? 'all';
  stdout.write(
    ruleDefinitions(names.domain, part)
      .map((definition) => `---\n${dump(definition, { noRefs: true })}`)
      .join(''),
  );
  return 0;
}
