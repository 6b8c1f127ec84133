import { RE2JS } from 're2js';
import type { StringMap, Value, ValueType } from '../attribute/value.ts';
import { EXAMPLE_OF, FROM_TEXT, type TextualType } from './canonical.ts';

export type Apply = (args: readonly (Value | undefined)[]) => Value | undefined;

/** A parameter's type; `same` is one type for all parameters that say so, and for the result. */
export type Parameter = ValueType | 'same' | 'STRING or STRING_MAP';

export interface ExpressionFunction {
  readonly parameters: readonly Parameter[];
  readonly result: ValueType | 'same';
  /** How it is called, for messages and the reference. */
  readonly usage: string;
  /** Whether it is asked also when an argument is absent. */
  readonly acceptsAbsent?: boolean;
  /**
   * The function for one place of one expression, with those arguments that are literals, so that what they say is worked out once. It
   * gives `undefined` for what cannot be answered; a literal that never can is an error here.
   */
  prepare(literals: readonly (Value | undefined)[]): Apply | { readonly error: string };
}

const string = (value: Value | undefined): string => (typeof value === 'string' ? value : '');

/** One that depends on its arguments alone. */
function plain(
  parameters: readonly Parameter[],
  result: ValueType,
  usage: string,
  apply: (...args: readonly string[]) => Value,
): ExpressionFunction {
  return { parameters, result, usage, prepare: () => (args) => apply(...args.map(string)) };
}

function fromText(type: TextualType, usage: string): ExpressionFunction {
  const convert = FROM_TEXT[type];
  return {
    parameters: ['STRING'],
    result: type,
    usage,
    prepare: ([literal]) => {
      if (literal === undefined) return ([text]) => convert(string(text));
      const value = convert(string(literal));
      return value === undefined ? { error: `"${string(literal)}" is not ${EXAMPLE_OF[type]}` } : () => value;
    },
  };
}

const EMPTY: StringMap = new Map();

/** `*` stands for any text at the beginning, at the end, or at both; everywhere else for itself. */
function glob(pattern: string): (text: string) => boolean {
  if (pattern === '*') return () => true;
  if (pattern.length > 1 && pattern.startsWith('*') && pattern.endsWith('*'))
    return (text) => text.includes(pattern.slice(1, -1));
  if (pattern.endsWith('*')) return (text) => text.startsWith(pattern.slice(0, -1));
  if (pattern.startsWith('*')) return (text) => text.endsWith(pattern.slice(1));
  return (text) => text === pattern;
}

const match: ExpressionFunction = {
  parameters: ['STRING', 'STRING'],
  result: 'BOOL',
  usage: 'match(destination.service, "ratings.*")',
  prepare: ([, pattern]) => {
    if (pattern === undefined) return ([text, given]) => glob(string(given))(string(text));
    const matches = glob(string(pattern));
    return ([text]) => matches(string(text));
  },
};

/** In time linear in the text, whatever the expression (RE2's syntax, https://github.com/google/re2/wiki/Syntax); it may match anywhere. */
const matches: ExpressionFunction = {
  parameters: ['STRING', 'STRING'],
  result: 'BOOL',
  usage: '"^/api/v[12]/".matches(request.path)',
  prepare: ([pattern]) => {
    if (pattern === undefined)
      return { error: 'the regular expression is a literal and stands first: "^/api/".matches(request.path)' };
    try {
      const compiled = RE2JS.compile(string(pattern));
      return ([, text]) => compiled.matcher(string(text)).find();
    } catch (thrown) {
      return { error: `the regular expression is wrong: ${thrown instanceof Error ? thrown.message : String(thrown)}` };
    }
  },
};

/** What expressions can call, by name. A method's receiver is its first parameter. */
export const FUNCTIONS: ReadonlyMap<string, ExpressionFunction> = new Map(
  Object.entries({
    match,
    matches,
    startsWith: plain(['STRING', 'STRING'], 'BOOL', 'request.path.startsWith("/api/")', (text = '', prefix = '') =>
      text.startsWith(prefix),
    ),
    endsWith: plain(['STRING', 'STRING'], 'BOOL', 'request.path.endsWith(".html")', (text = '', suffix = '') =>
      text.endsWith(suffix),
    ),
    reverse: plain(['STRING'], 'STRING', 'reverse(request.path)', (text = '') => [...text].reverse().join('')),
    toLower: plain(['STRING'], 'STRING', 'toLower(request.host)', (text = '') => text.toLowerCase()),
    size: {
      parameters: ['STRING or STRING_MAP'],
      result: 'INT64',
      usage: 'size(request.headers)',
      prepare:
        () =>
        ([value]) =>
          BigInt(value instanceof Map ? value.size : [...string(value)].length),
    },
    conditional: {
      parameters: ['BOOL', 'same', 'same'],
      result: 'same',
      usage: 'conditional(response.code >= 500, "error", "fine")',
      acceptsAbsent: true,
      prepare:
        () =>
        ([condition, yes, no]) =>
          condition === undefined ? undefined : condition ? yes : no,
    },
    emptyStringMap: { parameters: [], result: 'STRING_MAP', usage: 'emptyStringMap()', prepare: () => () => EMPTY },
    ip: fromText('IP_ADDRESS', 'ip("10.0.0.1")'),
    timestamp: fromText('TIMESTAMP', 'timestamp("2018-06-01T12:00:00Z")'),
    duration: fromText('DURATION', 'duration("1.5s")'),
    dnsName: fromText('DNS_NAME', 'dnsName("ratings.default")'),
    email: fromText('EMAIL_ADDRESS', 'email("admin@example.com")'),
    uri: fromText('URI', 'uri("https://example.com/")'),
  } satisfies Record<string, ExpressionFunction>),
);
