/** Turns the typed tables into oclif's definitions: what its manifest, help and completion read. */

import type { ArgSpec, FlagSpec, FlagTable } from './table.ts';
import { formatFlagValue, parseFlagValue } from './values.ts';

/** An oclif flag definition, as far as the project sets it. */
export interface OclifFlag {
  readonly type: 'boolean' | 'option';
  readonly summary: string;
  readonly char?: string;
  readonly aliases?: readonly string[];
  readonly hidden?: boolean;
  readonly env?: string;
  readonly default?: string | boolean | readonly string[];
  readonly options?: readonly string[];
  readonly helpValue?: string;
  readonly multiple?: boolean;
  readonly multipleNonGreedy?: boolean;
  readonly allowNo?: boolean;
  readonly parse: (input: string | boolean) => Promise<unknown>;
}

export interface OclifArg {
  readonly description: string;
  readonly required: boolean;
  readonly multiple: boolean;
  readonly options?: readonly string[];
  readonly ignoreStdin: true;
  readonly parse: (input: string) => Promise<string>;
}

export function oclifFlags(table: FlagTable): Readonly<Record<string, OclifFlag>> {
  return Object.fromEntries(Object.entries(table).map(([name, spec]) => [name, oclifFlag(spec)]));
}

export function oclifArgs(specs: readonly ArgSpec[]): Readonly<Record<string, OclifArg>> {
  return Object.fromEntries(
    specs.map((spec) => [
      spec.name,
      {
        description: spec.summary,
        required: spec.required === true,
        multiple: spec.variadic === true,
        ignoreStdin: true,
        parse: async (input: string) => input,
        ...(spec.options === undefined ? {} : { options: spec.options }),
      },
    ]),
  );
}

function oclifFlag(spec: FlagSpec): OclifFlag {
  const common = {
    summary: summaryOf(spec),
    parse: async (input: string | boolean) => parseOrThrow(spec, String(input)),
    ...(spec.char === undefined ? {} : { char: spec.char }),
    ...(spec.aliases === undefined ? {} : { aliases: spec.aliases }),
    ...(spec.hidden === undefined ? {} : { hidden: spec.hidden }),
    ...(spec.env === undefined ? {} : { env: spec.env }),
  };
  if (spec.type === 'bool') return { ...common, type: 'boolean', allowNo: false, default: spec.default };
  const list = spec.type === 'stringSlice' || spec.type === 'stringArray';
  const shown = formatFlagValue(spec);
  return {
    ...common,
    type: 'option',
    helpValue: `<${spec.type}>`,
    multiple: list,
    ...(list ? { multipleNonGreedy: true, default: spec.default } : shown === '' ? {} : { default: shown }),
    ...('options' in spec && spec.options !== undefined && !list ? { options: spec.options } : {}),
  };
}

/** The summary as help shows it: with what the flag takes, and whether it is refused. */
export function summaryOf(spec: FlagSpec): string {
  const env = spec.env === undefined ? '' : ` (else ${spec.env} from the environment)`;
  const refused = spec.refused === undefined ? '' : ` (refused: ${spec.refused})`;
  return `${spec.summary}${env}${refused}`;
}

function parseOrThrow(spec: FlagSpec, text: string): unknown {
  const parsed = parseFlagValue(spec, text);
  if (parsed.ok) return parsed.value;
  throw new Error(parsed.problems.map(({ message }) => message).join('; '));
}
