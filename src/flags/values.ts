/** The value types of flags as Go users know them: pflag's spellings and ranges. */
import { formatDuration, milliseconds, parseDuration } from '../lib/duration.ts';
import type { Parsed } from '../lib/errors.ts';
import { suggestion } from '../lib/nearest.ts';
import type { FlagSpec } from './table.ts';

export type FlagValue = string | number | boolean | readonly string[];

const TRUE = ['1', 't', 'T', 'true', 'TRUE', 'True'];
const FALSE = ['0', 'f', 'F', 'false', 'FALSE', 'False'];
const INTEGER = /^[+-]?(?:0|[1-9][0-9]*|0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+)$/;
const FLOAT = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;
const MAX_FLOAT32 = 3.4028234663852886e38;
const MAX_UINT16 = 65_535;

const good = (value: FlagValue): Parsed<FlagValue> => ({ ok: true, value });
const bad = (message: string): Parsed<FlagValue> => ({ ok: false, problems: [{ path: '', message }] });

/**
 * Reads one value of a flag. A list type gives the elements of this one occurrence. The problem tells the value and what
 * would be right; the caller adds the flag's name.
 */
export function parseFlagValue(spec: FlagSpec, text: string): Parsed<FlagValue> {
  switch (spec.type) {
    case 'string':
      return checkChoice(spec, [text]) ?? checkForm(spec.check, text) ?? good(text);
    case 'bool':
      return parseBool(text);
    case 'int':
      return parseInteger(text, spec.min ?? Number.MIN_SAFE_INTEGER, spec.max ?? Number.MAX_SAFE_INTEGER);
    case 'uint':
      return parseInteger(text, spec.min ?? 0, spec.max ?? Number.MAX_SAFE_INTEGER);
    case 'uint16':
      return parseInteger(text, 0, MAX_UINT16);
    case 'float32':
      return parseFloat32(text);
    case 'duration':
      return parseDuration(text);
    case 'stringSlice': {
      const fields = parseCsv(text);
      if (fields === undefined) return bad(`"${text}" is not a comma-separated list: a quote is missing or misplaced`);
      return checkChoice(spec, fields) ?? good(fields);
    }
    case 'stringArray':
      return good([text]);
  }
}

/** How pflag prints a default: `[a,b]` for lists, `1m0s` for durations. */
export function formatFlagValue(spec: FlagSpec): string {
  switch (spec.type) {
    case 'stringSlice':
    case 'stringArray':
      return `[${spec.default.join(',')}]`;
    case 'duration':
      return formatDuration(milliseconds(spec.default));
    default:
      return String(spec.default);
  }
}

function parseBool(text: string): Parsed<FlagValue> {
  if (TRUE.includes(text)) return good(true);
  if (FALSE.includes(text)) return good(false);
  return bad(`"${text}" is neither true nor false`);
}

function parseInteger(text: string, min: number, max: number): Parsed<FlagValue> {
  if (!INTEGER.test(text)) return bad(`"${text}" is not a whole number${rangeHint(min, max)}`);
  const negative = text.startsWith('-');
  const magnitude = BigInt(text.replace(/^[+-]/, ''));
  const value = negative ? -magnitude : magnitude;
  if (value < BigInt(min) || value > BigInt(max)) return bad(`"${text}" is out of range from ${min} to ${max}`);
  return good(Number(value));
}

function rangeHint(min: number, max: number): string {
  if (min === Number.MIN_SAFE_INTEGER) return max === Number.MAX_SAFE_INTEGER ? ' such as 42' : ` up to ${max}`;
  return max === Number.MAX_SAFE_INTEGER ? ` of at least ${min}` : ` from ${min} to ${max}`;
}

function parseFloat32(text: string): Parsed<FlagValue> {
  if (!FLOAT.test(text)) return bad(`"${text}" is not a number such as 0.5`);
  const value = Number(text);
  return Math.abs(value) <= MAX_FLOAT32 ? good(value) : bad(`"${text}" is larger than a 32-bit float can be`);
}

function checkChoice(
  spec: Extract<FlagSpec, { type: 'string' | 'stringSlice' }>,
  values: readonly string[],
): Parsed<FlagValue> | undefined {
  const { options, refusedValues = {} } = spec;
  for (const value of values) {
    const refused = Object.hasOwn(refusedValues, value) ? refusedValues[value] : undefined;
    if (refused !== undefined) return bad(`"${value}" is refused: ${refused}`);
    if (options !== undefined && !options.includes(value)) {
      return bad(`"${value}" is not one of ${options.join(', ')}${suggestion(value, options)}`);
    }
  }
  return undefined;
}

function checkForm(check: ((text: string) => Parsed<unknown>) | undefined, text: string): Parsed<FlagValue> | undefined {
  const read = check?.(text);
  return read?.ok === false ? read : undefined;
}

/** One line of CSV as Go's encoding/csv reads it; undefined when a quote is out of place. The empty text has no fields. */
function parseCsv(text: string): string[] | undefined {
  if (text === '') return [];
  const fields: string[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/y;
  for (;;) {
    const match = field.exec(text);
    if (match === null) return undefined;
    fields.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
    if (match[3] === '') return fields;
  }
}
