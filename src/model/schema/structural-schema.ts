/** JSON Schema as a CustomResourceDefinition takes it: "structural", a subset with the type of everything said. */
import { isMapping } from '../parse/object.ts';

export type StructuralSchema = Readonly<Record<string, unknown>>;

/** Words that a structural schema has no place for. Unknown fields are found by the API server's own field validation. */
const DROPPED: readonly string[] = ['$schema', 'message', 'additionalProperties'];
/** An object that says nothing of its fields may have any. */
const ANY_FIELDS = { 'x-kubernetes-preserve-unknown-fields': true } as const;

/**
 * Rewrites a schema of ours, which uses few of JSON Schema's words.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
export function structuralSchema(schema: unknown): StructuralSchema {
  if (!isMapping(schema)) throw new TypeError('a schema is an object');
  const kept = Object.entries(schema).filter(([word, value]) => !DROPPED.includes(word) && !hasNoFields(word, value));
  const type = schema['type'] ?? (Array.isArray(schema['enum']) ? typeof schema['enum'][0] : undefined);
  const values = isMapping(schema['additionalProperties'])
    ? { additionalProperties: structuralSchema(schema['additionalProperties']) }
    : {};
  const open = type === 'object' && schema['properties'] === undefined && schema['additionalProperties'] === undefined;
  return {
    type,
    ...Object.fromEntries(kept.map(([word, value]) => [word, nested(word, value)])),
    ...values,
    ...(open ? ANY_FIELDS : {}),
  };
}

/** The API server drops it, and takes the definition for another one than was applied from then on. */
function hasNoFields(word: string, value: unknown): boolean {
  return word === 'properties' && isMapping(value) && Object.keys(value).length === 0;
}

function nested(word: string, value: unknown): unknown {
  switch (word) {
    case 'properties':
      return isMapping(value)
        ? Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, structuralSchema(schema)]))
        : value;
    case 'items':
      return structuralSchema(value);
    default:
      return value;
  }
}
