import type { Fields } from '../../model/parse/fields.ts';
import { patternOf, patternProblem, type TextPattern } from './text-pattern.ts';

/** A list of patterns; `undefined` where there is none. One that is there and empty is refused: it could mean nothing, or everything. */
export function readPatterns(fields: Fields, field: string): readonly TextPattern[] | undefined {
  if (!fields.has(field)) return undefined;
  const texts = fields.texts(field);
  if (texts.length === 0) fields.refuse(field, 'must not be empty; * stands for any');
  return texts.map((text, index) => readOne(fields, `${field}[${index}]`, text));
}

/** A list of patterns that must be there. */
export function requiredPatterns(fields: Fields, field: string): readonly TextPattern[] {
  const patterns = readPatterns(fields, field);
  if (patterns === undefined) fields.refuse(field, 'is required');
  return patterns ?? [];
}

/** One pattern; `undefined` where there is none. */
export function readPattern(fields: Fields, field: string): TextPattern | undefined {
  const text = fields.text(field);
  return text === undefined ? undefined : readOne(fields, field, text);
}

function readOne(fields: Fields, field: string, text: string): TextPattern {
  const problem = patternProblem(text);
  if (problem !== undefined) fields.refuse(field, problem);
  return patternOf(text);
}
