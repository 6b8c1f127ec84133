import type { Parsed } from '../../lib/errors.ts';
import type { CompiledInstance, TemplateName } from '../template/template.ts';

/** One way out of the mesh (`prometheus`, `denier`, ...), as its handlers are configured. `Params` is a checked and defaulted configuration. */
export interface AdapterSpec<Params = unknown> {
  readonly name: string;
  /** One sentence for `mixs crd` and the reference. */
  readonly description: string;
  readonly templates: readonly TemplateName[];
  /** Which of them one handler takes, where that is for its parameters to say. */
  templatesOf?(params: Params): readonly TemplateName[];
  /** JSON schema of the kind's `spec`, as it stands in files and in CustomResourceDefinitions. */
  readonly schema: object;
  /**
   * Reads a handler's spec, with the instances that rules send to it: names that the spec mentions and no rule sends, types that do not
   * fit, all with their path below `spec`.
   */
  parse(spec: unknown, instances: readonly CompiledInstance[]): Parsed<Params>;
}
