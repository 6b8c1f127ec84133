/** Looking into JSON of others, whose shape may be any: what is missing or of another type reads as absent. */

export interface JsonFields {
  readonly [name: string]: unknown;
}

export const isFields = (value: unknown): value is JsonFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value at a path of fields. */
export function field(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const name of path) current = isFields(current) ? current[name] : undefined;
  return current;
}

export const items = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Texts and numbers as text; everything else is empty. */
export const text = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
