/**
 * Typed tables of command line flags. One table per subcommand says everything about its flags: the oclif definitions, the
 * help, the reference pages and the type of the parsed options all come from it.
 */
import type { Duration } from '../lib/duration.ts';
import type { Parsed } from '../lib/errors.ts';

interface FlagCommon {
  /** One line for the help, lower case, no final period. */
  readonly summary: string;
  /** One-letter short form. */
  readonly char?: string;
  readonly aliases?: readonly string[];
  readonly hidden?: boolean;
  /**
   * Set on a flag whose behaviour this build does not have: giving it is refused with this reason (exit 2), so that no flag
   * is ever parsed and ignored. For a bool only `true` is refused.
   */
  readonly refused?: string;
  /** Environment variable that stands in for the flag when the flag is not given. */
  readonly env?: string;
}

/** A flag that takes one of a few words; some of them may not be supported by this build. */
interface Choice {
  readonly options?: readonly string[];
  /** Values that are known but refused, each with the reason. */
  readonly refusedValues?: Readonly<Record<string, string>>;
}

/** A flag whose value has a form of its own. */
interface Check {
  /** Whether a value can be read; its problems are told with the flag's name. */
  readonly check?: (text: string) => Parsed<unknown>;
}

export type FlagSpec =
  | (FlagCommon & Choice & Check & { readonly type: 'string'; readonly default: string })
  | (FlagCommon & { readonly type: 'bool'; readonly default: boolean })
  | (FlagCommon & { readonly type: 'int' | 'uint'; readonly default: number; readonly min?: number; readonly max?: number })
  | (FlagCommon & { readonly type: 'uint16' | 'float32'; readonly default: number })
  | (FlagCommon & { readonly type: 'duration'; readonly default: Duration })
  /** Comma-separated and repeatable, as pflag's StringSlice. */
  | (FlagCommon & Choice & { readonly type: 'stringSlice'; readonly default: readonly string[] })
  /** Repeatable, commas kept, as pflag's StringArray. */
  | (FlagCommon & { readonly type: 'stringArray'; readonly default: readonly string[] });

export type FlagTable = Readonly<Record<string, FlagSpec>>;

type ValueOf<S extends FlagSpec> = S extends { type: 'string'; options: readonly (infer O)[] }
  ? O
  : S extends { type: 'string' }
    ? string
    : S extends { type: 'bool' }
      ? boolean
      : S extends { type: 'duration' }
        ? Duration
        : S extends { type: 'stringSlice' | 'stringArray' }
          ? readonly string[]
          : number;

/** The parsed options of a table: every flag has its value, given or default. */
export type OptionsOf<T extends FlagTable> = { readonly [Name in keyof T]: ValueOf<T[Name]> };

/** What a command hands to its component: the options, and which of them the user really gave. */
export interface Invocation<T extends FlagTable> {
  readonly options: OptionsOf<T>;
  readonly given: ReadonlySet<keyof T>;
  /** Positional arguments. */
  readonly args: readonly string[];
}

/** A positional argument of a command. */
export interface ArgSpec {
  /** As the usage line shows it, such as `SERVICE[.NS]`. */
  readonly name: string;
  readonly summary: string;
  readonly required?: boolean;
  /** Takes all the words that are left; only for the last one. */
  readonly variadic?: boolean;
  readonly options?: readonly string[];
}

/** Keeps the literal types of a table. */
export function flagTable<const T extends FlagTable>(table: T): T {
  return table;
}
