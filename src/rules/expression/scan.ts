import { mistake } from './mistake.ts';
import { type BinaryOperator, type Literal, PRECEDENCE } from './syntax.ts';

export type Token =
  | { readonly kind: 'name'; readonly text: string; readonly at: number }
  | { readonly kind: 'literal'; readonly literal: Literal; readonly text: string; readonly at: number }
  | { readonly kind: 'operator'; readonly text: BinaryOperator | '!'; readonly at: number }
  | { readonly kind: 'mark'; readonly text: '(' | ')' | '[' | ']' | ',' | '.'; readonly at: number }
  | { readonly kind: 'end'; readonly text: 'the end'; readonly at: number };

const SPACE = /\s+/y;
// Attributes have words with dashes in none of the manifests; `-` is subtraction, as in Go.
const NAME = /[$A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /0[xX][0-9a-fA-F]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\\n]|\\.)*"|`[^`]*`/y;
const SIGN = /\|\||&&|==|!=|<=|>=|[<>!+\-*/%|()[\],.]/y;
const ESCAPE = /\\(?:([abfnrtv\\"'])|x([0-7][0-9a-fA-F])|([01][0-7]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|.)/gs;
const SINGLE: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '"': '"',
  "'": "'",
};
const INT64_MAX = 2n ** 63n - 1n;

/**
 * The words of an expression, the last one being its end. Literals are Go's (https://go.dev/ref/spec#Lexical_elements).
 *
 * @throws MeshError `invalid` with the position of what is no word
 */
export function scan(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0];
  };
  while (at < text.length) {
    const space = take(SPACE);
    if (space !== undefined) {
      at += space.length;
      continue;
    }
    const token = nextToken(text, at, take);
    tokens.push(token);
    at += token.text.length;
  }
  tokens.push({ kind: 'end', text: 'the end', at: text.length });
  return tokens;
}

function nextToken(text: string, at: number, take: (pattern: RegExp) => string | undefined): Token {
  const name = take(NAME);
  if (name === 'true' || name === 'false')
    return { kind: 'literal', literal: { type: 'BOOL', value: name === 'true' }, text: name, at };
  if (name !== undefined) return { kind: 'name', text: name, at };
  const number = take(NUMBER);
  if (number !== undefined) return { kind: 'literal', literal: numberLiteral(text, number, at), text: number, at };
  const string = take(STRING);
  if (string !== undefined)
    return { kind: 'literal', literal: { type: 'STRING', value: unquote(text, string, at) }, text: string, at };
  const sign = take(SIGN);
  if (sign !== undefined && isOperator(sign)) return { kind: 'operator', text: sign, at };
  if (sign !== undefined && isMark(sign)) return { kind: 'mark', text: sign, at };
  throw mistake(text, at, describeStray(text.charAt(at)));
}

function describeStray(character: string): string {
  if (character === '"' || character === '`') return 'the string that begins here has no end';
  if (character === "'") return 'strings stand in double quotes, not in single ones';
  if (character === '&') return 'a single & means nothing, "and" is &&';
  if (character === '=') return 'a single = means nothing, "equals" is ==';
  return `${JSON.stringify(character)} means nothing here`;
}

const isOperator = (sign: string): sign is BinaryOperator | '!' => sign === '!' || Object.hasOwn(PRECEDENCE, sign);
const isMark = (sign: string): sign is '(' | ')' | '[' | ']' | ',' | '.' => '()[],.'.includes(sign);

function numberLiteral(text: string, number: string, at: number): Literal {
  const isInteger = /^(?:0[xX][0-9a-fA-F]+|\d+)$/.test(number);
  if (!isInteger) return { type: 'DOUBLE', value: Number(number) };
  const value = BigInt(number);
  if (value > INT64_MAX) throw mistake(text, at, `${number} does not fit into 64 bits`);
  return { type: 'INT64', value };
}

function unquote(text: string, quoted: string, at: number): string {
  const inner = quoted.slice(1, -1);
  if (quoted.startsWith('`')) return inner;
  return inner.replace(ESCAPE, (whole, single, hex, octal, short, long, offset: number) => {
    if (single !== undefined) return SINGLE[single] ?? single;
    const digits = hex ?? short ?? long;
    const point = octal === undefined ? Number.parseInt(digits, 16) : Number.parseInt(octal, 8);
    if (Number.isNaN(point) || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) {
      throw mistake(text, at + 1 + offset, `"${whole}" is no escape sequence; a backslash itself is written \\\\`);
    }
    return String.fromCodePoint(point);
  });
}
