import type { Parsed, Problem } from '../../lib/errors.ts';
import { MeshError } from '../../lib/errors.ts';
import { unknownField } from '../../model/parse/schema-problems.ts';
import type { AttributeBag } from '../attribute/bag.ts';
import type { TypedValue, Value, ValueOf, ValueType } from '../attribute/value.ts';
import type { CompiledExpression, CompileExpression } from '../expression/types.ts';

/** One part of an instance's spec. `T` is what a request makes of it. */
export type Field<T> =
  | { readonly kind: 'expression'; readonly type: ValueType | 'any'; readonly required: boolean; readonly fallback?: T }
  | { readonly kind: 'dimensions' }
  | { readonly kind: 'group'; readonly fields: Fields };

export type Fields = Readonly<Record<string, Field<unknown>>>;

/** What a request makes of fields. */
export type ValuesOf<F extends Fields> = { readonly [Name in keyof F]: F[Name] extends Field<infer T> ? T : never };

export type Dimensions = Readonly<Record<string, TypedValue>>;

/** An expression without whose value there is no instance. */
export function required<T extends ValueType>(type: T): Field<ValueOf[T]> {
  return { kind: 'expression', type, required: true };
}

/** An expression of any type that must have a value. */
export function requiredOfAnyType(): Field<TypedValue> {
  return { kind: 'expression', type: 'any', required: true };
}

/** An expression that may be left out, or have no value. */
export function optional<T extends ValueType>(type: T): Field<ValueOf[T] | undefined> {
  return { kind: 'expression', type, required: false };
}

/** An expression with a value for requests where it has none. */
export function withDefault<T extends ValueType>(type: T, fallback: ValueOf[T]): Field<ValueOf[T]> {
  return { kind: 'expression', type, required: false, fallback };
}

/** Named expressions of any type. One without a value leaves its dimension out. */
export function dimensions(): Field<Dimensions> {
  return { kind: 'dimensions' };
}

/** An object of fields. */
export function group<F extends Fields>(fields: F): Field<ValuesOf<F>> {
  return { kind: 'group', fields };
}

/** JSON schema of an object with these fields. */
export function schemaOf(fields: Fields): { readonly type: 'object'; readonly [keyword: string]: unknown } {
  const names = Object.entries(fields);
  const mandatory = names.filter(([, field]) => field.kind === 'expression' && field.required).map(([name]) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(names.map(([name, field]) => [name, schemaOfField(field)])),
    ...(mandatory.length > 0 ? { required: mandatory } : {}),
  };
}

function schemaOfField(field: Field<unknown>): object {
  switch (field.kind) {
    case 'expression':
      return { type: 'string', description: field.type === 'any' ? 'an expression' : `an expression of type ${field.type}` };
    case 'dimensions':
      return { type: 'object', description: 'expressions of any type, by name', additionalProperties: { type: 'string' } };
    case 'group':
      return schemaOf(field.fields);
  }
}

/** Fields with their expressions compiled. */
export interface CompiledFields<F extends Fields> {
  /** The types of all that has any type: `value`, `dimensions.x`, `subject.properties.y`. */
  readonly types: Readonly<Record<string, ValueType>>;
  /** The values of one request, or the path of what is required and absent. */
  evaluate(
    bag: AttributeBag,
  ): { readonly ok: true; readonly values: ValuesOf<F> } | { readonly ok: false; readonly missing: string };
}

/** Compiles the expressions of a spec; every problem with its path. */
export function compileFields<F extends Fields>(fields: F, spec: unknown, compile: CompileExpression): Parsed<CompiledFields<F>> {
  const reading: Reading = { compile, problems: [], types: {} };
  const build = compileGroup(fields, spec, '', reading);
  if (reading.problems.length > 0) return { ok: false, problems: reading.problems };
  const evaluate: CompiledFields<F>['evaluate'] = (bag) => {
    const values = build(bag);
    // The values were built from these very fields.
    return values instanceof Missing ? { ok: false, missing: values.path } : { ok: true, values: values as ValuesOf<F> };
  };
  return { ok: true, value: { types: reading.types, evaluate } };
}

interface Reading {
  readonly compile: CompileExpression;
  readonly problems: Problem[];
  readonly types: Record<string, ValueType>;
}

class Missing {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }
}

type Build = (bag: AttributeBag) => unknown;

function compileGroup(fields: Fields, spec: unknown, path: string, reading: Reading): Build {
  const given = objectAt(spec, path, reading);
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(fields, name)) {
      reading.problems.push({ path: join(path, name), message: unknownField(name, Object.keys(fields)) });
    }
  }
  const builds = Object.entries(fields).map(([name, field]): readonly [string, Build] => [
    name,
    compileField(field, given[name], join(path, name), reading),
  ]);
  return (bag) => {
    const values: Record<string, unknown> = {};
    for (const [name, build] of builds) {
      const value = build(bag);
      if (value instanceof Missing) return value;
      values[name] = value;
    }
    return values;
  };
}

function compileField(field: Field<unknown>, spec: unknown, path: string, reading: Reading): Build {
  switch (field.kind) {
    case 'group':
      return compileGroup(field.fields, spec, path, reading);
    case 'dimensions':
      return compileDimensions(spec, path, reading);
    case 'expression':
      return compileOne(field, spec, path, reading);
  }
}

function compileOne(field: Field<unknown> & { kind: 'expression' }, spec: unknown, path: string, reading: Reading): Build {
  const { required: mandatory, fallback } = field;
  if (spec === undefined || spec === '') {
    if (mandatory) reading.problems.push({ path, message: 'is required' });
    return () => fallback;
  }
  const expression = expressionAt(spec, field.type, path, reading);
  if (expression === undefined) return () => undefined;
  const absent = mandatory ? new Missing(path) : fallback;
  if (field.type !== 'any') return (bag) => expression.evaluate(bag) ?? absent;
  reading.types[path] = expression.type;
  const typed = typedBuild(expression);
  return (bag) => typed(bag) ?? absent;
}

function compileDimensions(spec: unknown, path: string, reading: Reading): Build {
  const entries = Object.entries(objectAt(spec, path, reading)).flatMap(
    ([name, text]): (readonly [string, (bag: AttributeBag) => TypedValue | undefined])[] => {
      const place = join(path, name);
      const expression = expressionAt(text, 'any', place, reading);
      if (expression === undefined) return [];
      reading.types[place] = expression.type;
      return [[name, typedBuild(expression)]];
    },
  );
  return (bag) => {
    const values: Record<string, TypedValue> = {};
    for (const [name, build] of entries) {
      const value = build(bag);
      if (value !== undefined) values[name] = value;
    }
    return values;
  };
}

function typedBuild({ type, evaluate }: CompiledExpression): (bag: AttributeBag) => TypedValue | undefined {
  return (bag) => {
    const value: Value | undefined = evaluate(bag);
    // The expression's type is that of its value.
    return value === undefined ? undefined : ({ type, value } as TypedValue);
  };
}

function expressionAt(spec: unknown, type: ValueType | 'any', path: string, reading: Reading): CompiledExpression | undefined {
  if (typeof spec !== 'string') {
    const quoted = typeof spec === 'number' || typeof spec === 'boolean' ? `; write it as text: "${spec}"` : '';
    reading.problems.push({ path, message: `must be the text of an expression${quoted}` });
    return undefined;
  }
  try {
    return reading.compile(spec, type);
  } catch (thrown) {
    if (!(thrown instanceof MeshError)) throw thrown;
    reading.problems.push({ path, message: thrown.message });
    return undefined;
  }
}

function objectAt(spec: unknown, path: string, { problems }: Reading): Readonly<Record<string, unknown>> {
  if (spec === undefined || spec === null) return {};
  if (typeof spec === 'object' && !Array.isArray(spec)) return { ...spec };
  problems.push({ path, message: 'must be an object' });
  return {};
}

const join = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);
