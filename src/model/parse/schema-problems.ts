import type { Problem } from '../../lib/errors.ts';
import { nearest, suggestion } from '../../lib/nearest.ts';
import { isMapping } from './object.ts';
import { joinPath } from './path.ts';

/** A JSON Schema, compiled ahead of time by ajv. */
export interface Validator {
  (data: unknown): boolean;
  errors?: readonly SchemaError[] | null;
}

interface SchemaError {
  readonly keyword: string;
  /** JSON pointer (RFC 6901) into the data. */
  readonly instancePath: string;
  /** URI fragment with a JSON pointer into the schema. */
  readonly schemaPath: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message?: string;
}

/** Everything that is wrong with a value by a schema, in words, with the JSON paths below `base`. */
export function checkSchema(validate: Validator, schema: object, value: unknown, base: string): readonly Problem[] {
  if (validate(value)) return [];
  const problems = (validate.errors ?? [])
    .filter(({ keyword }) => keyword !== 'if')
    .map((error) => describe(error, schema, value, base));
  const seen = new Set<string>();
  return problems.filter(({ path, message }) => {
    const key = `${path}\n${message}`;
    return seen.has(key) ? false : seen.add(key);
  });
}

function describe(error: SchemaError, schema: object, value: unknown, base: string): Problem {
  const path = pathOf(error.instancePath, value, base);
  const { params, keyword } = error;
  switch (keyword) {
    case 'additionalProperties': {
      const field = String(params.additionalProperty);
      return { path: joinPath(path, field), message: unknownField(field, knownFields(error.schemaPath, schema)) };
    }
    case 'required':
      return { path: joinPath(path, String(params.missingProperty)), message: 'required' };
    case 'enum':
      return { path, message: unknownWord(valueAt(error.instancePath, value), params.allowedValues) };
    default:
      return { path, message: ownMessage(error.schemaPath, schema) ?? plainMessage(error) };
  }
}

/** `unknown field; did you mean "peers"?`, or which fields there are. */
export function unknownField(field: string, known: readonly string[]): string {
  if (nearest(field, known) !== undefined) return `unknown field${suggestion(field, known)}`;
  return known.length === 0 ? 'unknown field; there are none here' : `unknown field; known here: ${known.join(', ')}`;
}

function unknownWord(given: unknown, allowed: unknown): string {
  const words = Array.isArray(allowed) ? allowed.map(String) : [];
  return `must be ${words.join(' or ')}${typeof given === 'string' ? `, not "${given}"${suggestion(given, words)}` : ''}`;
}

function plainMessage({ keyword, params, message }: SchemaError): string {
  if (keyword === 'minLength') return 'must not be empty';
  if (keyword !== 'type') return message ?? 'not valid';
  return `must be ${TYPES[String(params.type)] ?? String(params.type)}`;
}

const TYPES: Readonly<Record<string, string>> = {
  object: 'a mapping',
  array: 'a list',
  string: 'a text',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
};

function stepsOf(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function pathOf(pointer: string, value: unknown, base: string): string {
  let path = base;
  let at = value;
  for (const step of stepsOf(pointer)) {
    path = joinPath(path, Array.isArray(at) ? Number(step) : step);
    at = child(at, step);
  }
  return path;
}

function valueAt(pointer: string, value: unknown): unknown {
  return stepsOf(pointer).reduce(child, value);
}

function child(value: unknown, step: string): unknown {
  if (Array.isArray(value)) return value[Number(step)];
  return isMapping(value) ? value[step] : undefined;
}

/** The part of the schema that the failed keyword belongs to. */
function schemaAt(schemaPath: string, schema: object): unknown {
  const steps = stepsOf(schemaPath.replace(/^#/, '')).map((step) => decodeURIComponent(step));
  return steps.slice(0, -1).reduce(child, schema as unknown);
}

function knownFields(schemaPath: string, schema: object): readonly string[] {
  const part = schemaAt(schemaPath, schema);
  return isMapping(part) && isMapping(part.properties) ? Object.keys(part.properties) : [];
}

function ownMessage(schemaPath: string, schema: object): string | undefined {
  const part = schemaAt(schemaPath, schema);
  return isMapping(part) && typeof part.message === 'string' ? part.message : undefined;
}
