import { mistake } from './mistake.ts';
import { scan, type Token } from './scan.ts';
import { type BinaryOperator, type Expression, PRECEDENCE } from './syntax.ts';

const MAX_LENGTH = 8192;
/** Deeper than anybody writes, and far from the end of the stack. */
const MAX_DEPTH = 100;

/**
 * Reads an expression: Go's grammar of expressions as far as it makes sense for attributes. A dotted name is an attribute, unless a
 * parenthesis follows: then its last word is a function and what stands before it the receiver.
 *
 * @throws MeshError `invalid` with the position of the mistake
 */
export function parseExpression(text: string): Expression {
  if (text.length > MAX_LENGTH)
    throw mistake(text, 0, `an expression has at most ${MAX_LENGTH} characters, this one ${text.length}`);
  const parser = new Parser(text);
  const expression = parser.binary(1);
  parser.expectEnd();
  return expression;
}

class Parser {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = scan(text);
  }

  expectEnd(): void {
    if (this.#peek().kind !== 'end') throw this.#unexpected('an operator or the end');
  }

  /** Precedence climbing: operators that bind at least as tightly as `lowest`. */
  binary(lowest: number): Expression {
    let left = this.#nested(() => this.#unary());
    for (;;) {
      const token = this.#peek();
      if (token.kind !== 'operator' || token.text === '!') return left;
      const operator: BinaryOperator = token.text;
      if (PRECEDENCE[operator] < lowest) return left;
      this.#next++;
      const right = this.#nested(() => this.binary(PRECEDENCE[operator] + 1));
      left = { kind: 'binary', operator, left, right, at: token.at };
    }
  }

  #unary(): Expression {
    const token = this.#peek();
    if (token.kind === 'operator' && (token.text === '!' || token.text === '-')) {
      this.#next++;
      return { kind: 'unary', operator: token.text, operand: this.#nested(() => this.#unary()), at: token.at };
    }
    return this.#postfix(this.#primary());
  }

  #primary(): Expression {
    const token = this.#peek();
    if (token.kind === 'literal') {
      this.#next++;
      return { kind: 'literal', literal: token.literal, at: token.at };
    }
    if (token.kind === 'name') return this.#named(token.at);
    if (!this.#skip('(')) throw this.#unexpected('a value');
    const inner = this.binary(1);
    if (!this.#skip(')')) throw this.#unexpected('an operator or ")"');
    return inner;
  }

  /** `f(...)`, `a.b`, or `a.b.f(...)`. */
  #named(at: number): Expression {
    const words = [this.#name()];
    while (this.#is('.')) {
      this.#next++;
      words.push(this.#name());
    }
    if (!this.#is('(')) return { kind: 'attribute', name: words.join('.'), at };
    const name = words.pop() ?? '';
    const receiver: readonly Expression[] = words.length === 0 ? [] : [{ kind: 'attribute', name: words.join('.'), at }];
    return { kind: 'call', name, args: [...receiver, ...this.#args()], at };
  }

  #postfix(first: Expression): Expression {
    let expression = first;
    for (let links = 0; ; links++) {
      const { at } = this.#peek();
      if (this.#depth + links > MAX_DEPTH) throw this.#tooDeep();
      if (this.#skip('[')) {
        const key = this.binary(1);
        if (!this.#skip(']')) throw this.#unexpected('"]"');
        expression = { kind: 'index', map: expression, key, at };
      } else if (this.#skip('.')) {
        const name = this.#name();
        if (!this.#is('(')) throw this.#unexpected(`"(", as "${name}" is a function of what stands before it`);
        expression = { kind: 'call', name, args: [expression, ...this.#args()], at: at + 1 };
      } else return expression;
    }
  }

  #args(): readonly Expression[] {
    this.#skip('(');
    const args: Expression[] = [];
    if (this.#skip(')')) return args;
    do args.push(this.binary(1));
    while (this.#skip(','));
    if (!this.#skip(')')) throw this.#unexpected('"," or ")"');
    return args;
  }

  #name(): string {
    const token = this.#peek();
    if (token.kind !== 'name') throw this.#unexpected('a name');
    this.#next++;
    return token.text;
  }

  #is(mark: string): boolean {
    const token = this.#peek();
    return token.kind === 'mark' && token.text === mark;
  }

  #skip(mark: string): boolean {
    if (!this.#is(mark)) return false;
    this.#next++;
    return true;
  }

  #peek(): Token {
    const token = this.#tokens[this.#next] ?? this.#tokens.at(-1);
    if (token === undefined) throw mistake(this.#text, 0, 'an expression has at least one word');
    return token;
  }

  #nested(read: () => Expression): Expression {
    if (++this.#depth > MAX_DEPTH) throw this.#tooDeep();
    const expression = read();
    this.#depth--;
    return expression;
  }

  #tooDeep(): Error {
    return mistake(this.#text, this.#peek().at, `more than ${MAX_DEPTH} parts inside each other`);
  }

  #unexpected(expected: string): Error {
    const { kind, text, at } = this.#peek();
    return mistake(this.#text, at, `expected ${expected}, found ${kind === 'end' ? text : JSON.stringify(text)}`);
  }
}
