import type { Parsed, Problem } from '../lib/errors.ts';
import { suggestion } from '../lib/nearest.ts';
import { readWords, type Words } from './argv.ts';
import type { ArgSpec, FlagSpec, FlagTable, Invocation, OptionsOf } from './table.ts';
import { type FlagValue, parseFlagValue } from './values.ts';

/** What the user asked for: help, or to run with these options. */
export type Request<T extends FlagTable> =
  | { readonly kind: 'help' }
  | { readonly kind: 'run'; readonly invocation: Invocation<T> };

/**
 * Reads a command line against a command's tables. Scalars: the last one given wins; lists: the first one given replaces
 * the default, further ones append. Every problem is reported, with the flag as its path.
 */
export function parseCommandLine<T extends FlagTable>(
  table: T,
  argSpecs: readonly ArgSpec[],
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Parsed<Request<T>> {
  const words = readWords(table, argv);
  if (words.help) return { ok: true, value: { kind: 'help' } };
  const problems: Problem[] = [...words.problems];
  const values: Record<string, FlagValue> = {};
  for (const [name, spec] of Object.entries(table)) values[name] = resolve(name, spec, words, env, problems);
  // After a misspelt flag, a word that looks like an argument may be the value meant for it.
  if (words.problems.length === 0) problems.push(...checkArgs(argSpecs, words.args));
  if (problems.length > 0) return { ok: false, problems };
  const given = new Set<keyof T>(words.flags.map((flag) => flag.name));
  // parseFlagValue gives each flag the type that its spec in T declares.
  const options = values as OptionsOf<T>;
  return { ok: true, value: { kind: 'run', invocation: { options, given, args: words.args } } };
}

function resolve(
  name: string,
  spec: FlagSpec,
  words: Words,
  env: Readonly<Record<string, string | undefined>>,
  problems: Problem[],
): FlagValue {
  const texts = words.flags.filter((flag) => flag.name === name).map((flag) => flag.text);
  const fromEnv = spec.env === undefined ? undefined : env[spec.env];
  const source =
    texts.length === 0 && fromEnv !== undefined && fromEnv !== ''
      ? { shown: spec.env, texts: [fromEnv] }
      : { shown: `--${name}`, texts };
  let value: FlagValue | undefined;
  for (const text of source.texts) {
    const parsed = parseFlagValue(spec, text);
    if (!parsed.ok) {
      problems.push(...parsed.problems.map(({ message }) => ({ path: source.shown ?? '', message })));
      continue;
    }
    value = Array.isArray(parsed.value) && Array.isArray(value) ? [...value, ...parsed.value] : parsed.value;
  }
  if (spec.refused !== undefined && value !== undefined && value !== false) {
    problems.push({ path: source.shown ?? '', message: `refused: ${spec.refused}` });
  }
  return value ?? spec.default;
}

function checkArgs(specs: readonly ArgSpec[], args: readonly string[]): Problem[] {
  const missing = specs.filter((spec, index) => spec.required === true && index >= args.length);
  if (missing.length > 0) {
    return [{ path: '', message: `missing ${missing.map((spec) => spec.name).join(' ')}: ${missing[0]?.summary ?? ''}` }];
  }
  const variadic = specs.at(-1)?.variadic === true;
  const extra = variadic ? undefined : args[specs.length];
  if (extra !== undefined) return [{ path: '', message: `there is no place for the argument "${extra}"` }];
  return specs.flatMap((spec, index) => {
    const arg = args[index];
    if (arg === undefined || spec.options === undefined || spec.options.includes(arg)) return [];
    return [{ path: spec.name, message: `"${arg}" is not one of ${spec.options.join(', ')}${suggestion(arg, spec.options)}` }];
  });
}
