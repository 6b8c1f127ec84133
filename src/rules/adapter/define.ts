import type { Parsed, Problem } from '../../lib/errors.ts';
import { Fields } from '../../model/parse/fields.ts';
import type { CompiledInstance, TemplateName } from '../template/template.ts';
import type { AdapterSpec } from './adapter-spec.ts';

/** An adapter from a reader of its spec's fields. Whatever the reader notes keeps a handler from being one; paths begin below `spec`. */
export function defineAdapter<Params>(definition: {
  readonly name: string;
  readonly description: string;
  readonly templates: readonly TemplateName[];
  readonly templatesOf?: (params: Params) => readonly TemplateName[];
  readonly schema: object;
  /** All top-level fields that there are. */
  readonly read: (fields: Fields, instances: readonly CompiledInstance[]) => Params;
}): AdapterSpec<Params> {
  const { read, schema, ...rest } = definition;
  return {
    ...rest,
    schema,
    parse: (spec, instances): Parsed<Params> => {
      const problems: Problem[] = [];
      const params = read(new Fields(spec ?? {}, '', problems), instances);
      return problems.length > 0 ? { ok: false, problems } : { ok: true, value: params };
    },
  };
}

/** Schemas of common fields, for structural CustomResourceDefinitions. */
export const SCHEMA = {
  text: { type: 'string' },
  duration: { type: 'string', description: 'a span of time such as 5s or 1m30s' },
  count: { type: 'integer' },
  flag: { type: 'boolean' },
  object: (properties: Readonly<Record<string, object>>, required: readonly string[] = []) => ({
    type: 'object',
    properties,
    ...(required.length > 0 ? { required } : {}),
  }),
  list: (items: object) => ({ type: 'array', items }),
  map: (values: object) => ({ type: 'object', additionalProperties: values }),
} as const;
