import type { Parsed } from '../../lib/errors.ts';
import type { AttributeBag } from '../attribute/bag.ts';
import type { Value, ValueType } from '../attribute/value.ts';
import type { CompileExpression } from '../expression/types.ts';
import type { Fields } from './fields.ts';
import type { BuiltInstance, Instances, KubernetesOutput } from './instances.ts';

export type TemplateName = keyof Instances;

/** When the instances of a template are dispatched: before every request's rules, at checks, at quota allocations, at reports. */
export type Variety = 'attributes' | 'check' | 'quota' | 'report';

/** One kind of instance (`metric`, `quota`, ...): what it says in configuration, and what a request makes of it. */
export interface Template<Name extends TemplateName = TemplateName> {
  readonly name: Name;
  readonly variety: Variety;
  /** One sentence for `mixs crd` and the reference. */
  readonly description: string;
  /** What of the spec a request makes values of. */
  readonly fields: Fields;
  /** JSON schema of the kind's `spec`, as it stands in files and in CustomResourceDefinitions. */
  readonly schema: object;
  /** Checks an instance's spec and compiles its expressions; every problem with its path below `spec`. */
  compile(instanceName: string, spec: unknown, compile: CompileExpression): Parsed<CompiledInstance<Name>>;
}

export interface CompiledInstance<Name extends TemplateName = TemplateName> {
  readonly template: Name;
  /** `name.kind.namespace` of the object. */
  readonly name: string;
  /** What a handler may check when it is configured: types of dimensions, of the value ... */
  readonly types: Readonly<Record<string, ValueType>>;
  /** `undefined` where a required part is absent in this request: `missing` tells which. */
  build(bag: AttributeBag): BuiltInstance<Name> | { readonly missing: string };
  /** Of the `kubernetes` template: the attributes that are made of what a handler found. */
  readonly bind?: (source: KubernetesOutput | undefined, destination: KubernetesOutput | undefined) => ReadonlyMap<string, Value>;
}
