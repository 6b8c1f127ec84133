import {
  CORE_SCHEMA,
  constructFromEvents,
  defineMappingTag,
  defineScalarTag,
  dump,
  EVENT_ID,
  type Event,
  mapTag,
  mergeTag,
  NOT_RESOLVED,
  parseEvents,
  type Schema,
  type TagDefinition,
  YAMLException,
} from 'js-yaml';
import type { Problem } from '../../lib/errors.ts';

/** `0644` is octal to every Kubernetes client (YAML 1.1): a file mode read as decimal would be another mode. */
const integer = defineScalarTag<number>('tag:yaml.org,2002:int', {
  implicit: true,
  implicitFirstChars: [...'-+0123456789'],
  resolve: (source) => {
    const match = /^([-+]?)(?:0o?([0-7]+)|0x([0-9a-fA-F]+)|(0|[1-9][0-9]*))$/.exec(source);
    if (match === null) return NOT_RESOLVED;
    const [, sign, octal, hexadecimal, decimal] = match;
    const size =
      octal !== undefined ? Number.parseInt(octal, 8) : Number(hexadecimal !== undefined ? `0x${hexadecimal}` : decimal);
    return sign === '-' ? -size : size;
  },
  identify: (value) => Number.isInteger(value),
});

/** `yes` and `on` are booleans to every Kubernetes client (YAML 1.1), so they are here. */
const boolean = defineScalarTag<boolean>('tag:yaml.org,2002:bool', {
  implicit: true,
  implicitFirstChars: [...'tTfFyYnNoO'],
  resolve: (source) => {
    if (/^(?:true|True|TRUE|yes|Yes|YES|on|On|ON)$/.test(source)) return true;
    return /^(?:false|False|FALSE|no|No|NO|off|Off|OFF)$/.test(source) ? false : NOT_RESOLVED;
  },
  identify: (value) => typeof value === 'boolean',
});

/** A key that would change the prototype of the first object it is copied into by assignment is refused at the door. */
const mapping = defineMappingTag<Record<string, unknown>>('tag:yaml.org,2002:map', {
  ...mapTag,
  addPair: (carrier, key, value) =>
    key === '__proto__' ? 'the key "__proto__" is not allowed' : mapTag.addPair(carrier, key, value),
});

const SCHEMA: Schema = CORE_SCHEMA.withTags(mergeTag, integer, boolean, mapping);

/** Nesting deeper than this is refused; no manifest comes near. */
const MAX_DEPTH = 100;
/** Values that a document may have once its aliases are followed; only an alias bomb comes near. */
const MAX_VALUES = 1_000_000;

export interface YamlText {
  /** The events of the text, for positions. */
  readonly events: readonly Event[];
  /** The documents, in order; an empty text has none. */
  readonly values: readonly unknown[];
}

/**
 * Reads YAML 1.2 (JSON is a subset) as Kubernetes clients do: anchors and merge keys work, dates are strings, `yes` is a
 * boolean and `0644` octal. Hostile text (alias bombs, recursive aliases, endless nesting, `__proto__`) is a problem.
 * `tags` resolve further scalars.
 */
export function readYaml(
  text: string,
  ...tags: readonly TagDefinition[]
): { ok: true; value: YamlText } | { ok: false; problem: Problem } {
  try {
    const events = parseEvents(text, { maxDepth: MAX_DEPTH });
    const values = constructFromEvents(events, { source: text, schema: tags.length === 0 ? SCHEMA : SCHEMA.withTags(tags) });
    if (events.some((event) => event.type === EVENT_ID.ALIAS) && countValues(values, MAX_VALUES) === MAX_VALUES) {
      return { ok: false, problem: { path: '', message: `aliases multiply the document beyond ${MAX_VALUES} values` } };
    }
    return { ok: true, value: { events, values } };
  } catch (error) {
    return { ok: false, problem: problemOf(error) };
  }
}

/** Prints a value as a YAML document that YAML 1.1 and 1.2 readers understand alike; keys keep their order. */
export function printYaml(value: unknown): string {
  return dump(value, { lineWidth: -1, noRefs: true, seqNoIndent: true });
}

function problemOf(error: unknown): Problem {
  if (!(error instanceof YAMLException)) return { path: '', message: `not valid YAML: ${String(error)}` };
  const message = `not valid YAML: ${error.reason}`;
  return error.mark === undefined ? { path: '', message } : { path: '', message, line: error.mark.line + 1 };
}

/** Counts values, each alias again, up to the limit; a value that contains itself reaches it. */
function countValues(root: unknown, limit: number): number {
  const pending: unknown[] = [root];
  let count = 0;
  while (pending.length > 0 && count < limit) {
    const value = pending.pop();
    count++;
    if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) pending.push(inner);
  }
  return count;
}
