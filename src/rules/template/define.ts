import { type CompiledFields, compileFields, type Fields, schemaOf, type ValuesOf } from './fields.ts';
import type { BuiltInstance, Instances } from './instances.ts';
import type { Template, TemplateName, Variety } from './template.ts';

/** A template from the fields of its spec. `build` makes the instance of what a request made of them. */
export function defineTemplate<Name extends TemplateName, F extends Fields>(definition: {
  readonly name: Name;
  readonly variety: Variety;
  readonly description: string;
  readonly fields: F;
  readonly build: (name: string, values: ValuesOf<F>) => Instances[Name];
}): Template<Name> {
  const { name: template, variety, description, fields, build } = definition;
  return {
    name: template,
    variety,
    description,
    fields,
    schema: schemaOf(fields),
    compile: (name, spec, compile) => {
      const compiled = compileFields(fields, spec, compile);
      if (!compiled.ok) return compiled;
      const { types, evaluate }: CompiledFields<F> = compiled.value;
      return {
        ok: true,
        value: {
          template,
          name,
          types,
          build: (bag) => {
            const result = evaluate(bag);
            if (!result.ok) return { missing: result.missing };
            // `build` makes the values of this very template.
            return { template, values: build(name, result.values) } as BuiltInstance<Name>;
          },
        },
      };
    },
  };
}
