import { MeshError, type Parsed, type Problem } from '../../lib/errors.ts';
import { bagFrom } from '../attribute/bags.ts';
import type { Value, ValueType } from '../attribute/value.ts';
import { expressionCompiler } from '../expression/compile.ts';
import type { CompiledExpression, CompileExpression } from '../expression/types.ts';
import { compileFields, optional, schemaOf } from './fields.ts';
import type { KubernetesOutput } from './instances.ts';
import type { Template } from './template.ts';

const FIELDS = {
  sourceUid: optional('STRING'),
  sourceIp: optional('IP_ADDRESS'),
  destinationUid: optional('STRING'),
  destinationIp: optional('IP_ADDRESS'),
  destinationPort: optional('INT64'),
};

/** What the handler knows of one end, by the name that it has behind `$out.source_` or `$out.destination_`, and the attribute it is by default. */
const OUTPUTS: readonly {
  readonly field: keyof KubernetesOutput;
  readonly output: string;
  readonly type: ValueType;
  readonly attribute?: string;
}[] = [
  { field: 'podName', output: 'pod_name', type: 'STRING', attribute: 'name' },
  { field: 'podUid', output: 'pod_uid', type: 'STRING', attribute: 'uid' },
  { field: 'podIp', output: 'pod_ip', type: 'IP_ADDRESS', attribute: 'ip' },
  { field: 'labels', output: 'labels', type: 'STRING_MAP', attribute: 'labels' },
  { field: 'namespace', output: 'namespace', type: 'STRING', attribute: 'namespace' },
  { field: 'serviceAccount', output: 'service_account_name', type: 'STRING', attribute: 'serviceAccount' },
  { field: 'hostIp', output: 'host_ip', type: 'IP_ADDRESS' },
  { field: 'owner', output: 'owner', type: 'STRING', attribute: 'owner' },
  { field: 'workloadUid', output: 'workload_uid', type: 'STRING', attribute: 'workload.uid' },
  { field: 'workloadName', output: 'workload_name', type: 'STRING', attribute: 'workload.name' },
  { field: 'workloadNamespace', output: 'workload_namespace', type: 'STRING', attribute: 'workload.namespace' },
  { field: 'containerName', output: 'container_name', type: 'STRING', attribute: 'container.name' },
];
const ENDS = ['source', 'destination'] as const;

const OUTPUT_TYPES: ReadonlyMap<string, ValueType> = new Map(
  ENDS.flatMap((end) => OUTPUTS.map(({ output, type }): [string, ValueType] => [`$out.${end}_${output}`, type])),
);
const compileOutput = expressionCompiler({ typeOf: (name) => OUTPUT_TYPES.get(name), names: () => OUTPUT_TYPES.keys() });

const DEFAULT_BINDINGS: Readonly<Record<string, string>> = Object.fromEntries(
  ENDS.flatMap((end) =>
    OUTPUTS.flatMap(({ attribute, output }) =>
      attribute === undefined ? [] : [[`${end}.${attribute}`, `$out.${end}_${output}`]],
    ),
  ),
);

/** What is known of both ends of a request, as attributes. */
export const kubernetes: Template<'kubernetes'> = {
  name: 'kubernetes',
  variety: 'attributes',
  description: 'Asks what is known of both ends of a request, and makes attributes of it',
  fields: FIELDS,
  schema: {
    ...schemaOf(FIELDS),
    properties: {
      ...Object(schemaOf(FIELDS)['properties']),
      attributeBindings: {
        type: 'object',
        description:
          'attributes by name, each an expression over what was found: $out.source_pod_name, $out.destination_labels ...',
        additionalProperties: { type: 'string' },
      },
    },
  },
  compile: (name, spec, compile) => {
    const { bindings: given, rest } = splitSpec(spec);
    const fields = compileFields(FIELDS, rest, compile);
    const bindings = compileBindings(given ?? DEFAULT_BINDINGS, compile);
    if (!fields.ok || !bindings.ok) {
      return { ok: false, problems: [...(fields.ok ? [] : fields.problems), ...(bindings.ok ? [] : bindings.problems)] };
    }
    const { evaluate } = fields.value;
    return {
      ok: true,
      value: {
        template: 'kubernetes',
        name,
        types: {},
        build: (bag) => {
          const result = evaluate(bag);
          return result.ok ? { template: 'kubernetes', values: { name, ...result.values } } : { missing: result.missing };
        },
        bind: (source, destination) => bind(bindings.value, source, destination),
      },
    };
  },
};

function splitSpec(spec: unknown): { readonly bindings: unknown; readonly rest: unknown } {
  if (typeof spec !== 'object' || spec === null || Array.isArray(spec)) return { bindings: undefined, rest: spec };
  const { attributeBindings: bindings, ...rest } = { ...spec } as Readonly<Record<string, unknown>>;
  return { bindings, rest };
}

type Bindings = readonly (readonly [attribute: string, expression: CompiledExpression])[];

function compileBindings(given: unknown, compile: CompileExpression): Parsed<Bindings> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return { ok: false, problems: [{ path: 'attributeBindings', message: 'must be an object of expressions by attribute' }] };
  }
  const problems: Problem[] = [];
  const bindings = Object.entries(given).flatMap(([attribute, text]): Bindings => {
    try {
      // An attribute's own name is an expression of its type.
      const { type } = compile(attribute, 'any');
      if (typeof text !== 'string') throw new MeshError('invalid', 'must be the text of an expression');
      return [[attribute, compileOutput(text, type)]];
    } catch (thrown) {
      if (!(thrown instanceof MeshError)) throw thrown;
      problems.push({ path: `attributeBindings.${attribute}`, message: thrown.message });
      return [];
    }
  });
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: bindings };
}

function bind(
  bindings: Bindings,
  source: KubernetesOutput | undefined,
  destination: KubernetesOutput | undefined,
): ReadonlyMap<string, Value> {
  const found = new Map<string, Value>();
  for (const [end, output] of [
    ['source', source],
    ['destination', destination],
  ] as const) {
    for (const { field, output: name } of OUTPUTS) {
      const value = output?.[field];
      if (value !== undefined) found.set(`$out.${end}_${name}`, value);
    }
  }
  const bag = bagFrom(found);
  const attributes = new Map<string, Value>();
  for (const [attribute, { evaluate }] of bindings) {
    const value = evaluate(bag);
    if (value !== undefined) attributes.set(attribute, value);
  }
  return attributes;
}
