import { suggestion } from '../../lib/nearest.ts';
import type { AttributeBag, Vocabulary } from '../attribute/bag.ts';
import type { Value, ValueType } from '../attribute/value.ts';
import { EXAMPLE_OF, FROM_TEXT, isTextual } from './canonical.ts';
import { type Apply, FUNCTIONS, type Parameter } from './functions.ts';
import { mistake, NO_ATTRIBUTE } from './mistake.ts';
import { BINARY, canonicalised, type Evaluate, type Operation, UNARY } from './operators.ts';
import { parseExpression } from './parse.ts';
import { requirements } from './requirements.ts';
import type { BinaryOperator, Expression } from './syntax.ts';
import type { CompiledExpression, CompileExpression } from './types.ts';

/** A part of an expression, checked: its type and the closure that computes it. */
interface Part {
  readonly type: ValueType;
  readonly evaluate: Evaluate;
  /** The value of a literal. */
  readonly literal?: Value;
}

/** What a part may be: one type, or any. */
type Expected = ValueType | 'any';

/** Compiles expressions over one vocabulary. */
export function expressionCompiler(vocabulary: Vocabulary): CompileExpression {
  return (text, expected) => new Compiler(text, vocabulary).whole(expected);
}

class Compiler {
  readonly #text: string;
  readonly #vocabulary: Vocabulary;
  readonly #attributes = new Set<string>();

  constructor(text: string, vocabulary: Vocabulary) {
    this.#text = text;
    this.#vocabulary = vocabulary;
  }

  whole(expected: Expected): CompiledExpression {
    const tree = parseExpression(this.#text);
    const { type, evaluate } = this.#expect(tree, expected, (found) => `the value must be ${named(expected)}, not ${found}`);
    const requires = requirements(tree, (name) => this.#vocabulary.typeOf(name) === 'STRING');
    return { text: this.#text, type, evaluate, attributes: this.#attributes, requires };
  }

  /** Compiles a part that must have a type; text that stands in it as a literal is taken as one of that type. */
  #expect(node: Expression, expected: Expected, message: (found: string) => string): Part {
    const part = this.#part(node, expected);
    if (expected === 'any' || part.type === expected) return part;
    // Where text is wanted the text of these types will do.
    if (expected === 'STRING' && isTextual(part.type) && part.type !== 'DURATION' && part.type !== 'TIMESTAMP')
      return { ...part, type: 'STRING' };
    throw mistake(this.#text, node.at, message(`${part.type}${node.kind === 'attribute' ? ` (${node.name})` : ''}`));
  }

  #part(node: Expression, expected: Expected): Part {
    switch (node.kind) {
      case 'literal':
        return this.#literal(node, expected);
      case 'attribute':
        return this.#attribute(node);
      case 'index':
        return this.#index(node);
      case 'call':
        return this.#call(node, expected);
      case 'unary':
        return this.#unary(node, expected);
      case 'binary':
        return this.#binary(node, expected);
    }
  }

  #literal({ literal, at }: Expression & { kind: 'literal' }, expected: Expected): Part {
    if (literal.type === 'INT64' && expected === 'DOUBLE') return constant('DOUBLE', Number(literal.value));
    if (literal.type !== 'STRING' || expected === 'any' || !isTextual(expected)) return constant(literal.type, literal.value);
    const value = FROM_TEXT[expected](literal.value);
    if (value === undefined) throw mistake(this.#text, at, `"${literal.value}" is not ${EXAMPLE_OF[expected]}`);
    return constant(expected, value);
  }

  #attribute({ name, at }: Expression & { kind: 'attribute' }): Part {
    const type = this.#vocabulary.typeOf(name);
    if (type === undefined) {
      throw mistake(this.#text, at, `${NO_ATTRIBUTE} ${name}${suggestion(name, this.#vocabulary.names())}`);
    }
    this.#attributes.add(name);
    return { type, evaluate: (bag) => bag.get(name) };
  }

  #index({ map, key }: Expression & { kind: 'index' }): Part {
    const { evaluate: evaluateMap } = this.#expect(map, 'STRING_MAP', (found) => `only a STRING_MAP has [...], not ${found}`);
    const { evaluate: evaluateKey, literal } = this.#expect(
      key,
      'STRING',
      (found) => `the key of a STRING_MAP is a STRING, not ${found}`,
    );
    const ofKey = (bag: AttributeBag): string | undefined => {
      const value = literal ?? evaluateKey(bag);
      return typeof value === 'string' ? value : undefined;
    };
    const evaluate: Evaluate =
      map.kind === 'attribute'
        ? (bag) => {
            const value = ofKey(bag);
            return value === undefined ? undefined : bag.entry(map.name, value);
          }
        : (bag) => {
            const [entries, value] = [evaluateMap(bag), ofKey(bag)];
            return entries instanceof Map && value !== undefined ? entries.get(value) : undefined;
          };
    return { type: 'STRING', evaluate };
  }

  #unary({ operator, operand, at }: Expression & { kind: 'unary' }, expected: Expected): Part {
    const { type, evaluate, literal } = this.#part(operand, operator === '!' ? 'BOOL' : expected);
    const apply = UNARY[operator][type];
    if (apply === undefined) throw mistake(this.#text, at, `"${operator}" has no meaning for ${type}`);
    if (literal !== undefined) return constant(type, apply(literal));
    return {
      type,
      evaluate: (bag) => {
        const value = evaluate(bag);
        return value === undefined ? undefined : apply(value);
      },
    };
  }

  #binary(node: Expression & { kind: 'binary' }, expected: Expected): Part {
    const { operator, at } = node;
    if (operator === '&&' || operator === '||') return this.#logical(node);
    const sides = operator === '|' ? expected : 'any';
    const [left, right] = this.#sides(node, sides);
    if (operator === '|') {
      if (left.type !== right.type) throw mistake(this.#text, at, differ('|', left.type, right.type));
      return { type: left.type, evaluate: (bag) => left.evaluate(bag) ?? right.evaluate(bag) };
    }
    const operation: Operation | undefined = BINARY[operator][left.type];
    if (operation === undefined) throw mistake(this.#text, at, `"${operator}" has no meaning for ${left.type}`);
    const meaning = operation[right.type];
    if (meaning === undefined) throw mistake(this.#text, at, differ(operator, left.type, right.type));
    const { result, apply } = meaning;
    const [first, second] = [
      canonicalised(left.type, left.evaluate, left.literal),
      canonicalised(right.type, right.evaluate, right.literal),
    ];
    // What is absent equals nothing: with that, a rule against all but some value holds for those who bring none.
    const ofAbsent = operator === '==' ? false : operator === '!=' ? true : undefined;
    return {
      type: result,
      evaluate: (bag) => {
        const a = first(bag);
        if (a === undefined) return ofAbsent;
        const b = second(bag);
        return b === undefined ? ofAbsent : apply(a, b);
      },
    };
  }

  /** Both sides; a literal follows the type of the other side. */
  #sides({ operator, left, right }: Expression & { kind: 'binary' }, expected: Expected): readonly [Part, Part] {
    if (left.kind === 'literal' && right.kind !== 'literal') {
      const other = this.#part(right, expected);
      return [this.#part(left, besides(operator, other.type)), other];
    }
    const one = this.#part(left, expected);
    return [one, this.#part(right, besides(operator, one.type))];
  }

  #logical({ operator, left, right }: Expression & { kind: 'binary' }): Part {
    const message = (found: string): string => `"${operator}" stands between two BOOL, not ${found}`;
    const { evaluate: first } = this.#expect(left, 'BOOL', message);
    const { evaluate: second } = this.#expect(right, 'BOOL', message);
    const decides = operator === '||';
    return {
      type: 'BOOL',
      evaluate: (bag) => {
        const value = first(bag);
        return value === undefined || value === decides ? value : second(bag);
      },
    };
  }

  #call({ name, args, at }: Expression & { kind: 'call' }, expected: Expected): Part {
    const called = FUNCTIONS.get(name);
    if (called === undefined) throw mistake(this.#text, at, `there is no function ${name}${suggestion(name, FUNCTIONS.keys())}`);
    const { parameters, usage } = called;
    if (args.length !== parameters.length) {
      throw mistake(this.#text, at, `${name} takes ${parameters.length} arguments, not ${args.length}: ${usage}`);
    }
    let same: Expected = expected;
    const parts = args.map((arg, index) => {
      const part = this.#argument(arg, parameters[index] ?? 'same', same, usage);
      if (parameters[index] === 'same') same = part.type;
      return part;
    });
    const apply = called.prepare(parts.map(({ literal }) => literal));
    if (typeof apply !== 'function') throw mistake(this.#text, at, apply.error);
    const type = called.result === 'same' ? ofSame(same) : called.result;
    return {
      type,
      evaluate: application(
        parts.map(({ evaluate }) => evaluate),
        apply,
        called.acceptsAbsent === true,
      ),
    };
  }

  #argument(arg: Expression, parameter: Parameter, same: Expected, usage: string): Part {
    const message = (found: string): string => `${named(parameter)} is expected here, not ${found}: ${usage}`;
    if (parameter === 'same')
      return this.#expect(arg, same, (found) => `both values must be ${named(same)}, not ${found}: ${usage}`);
    if (parameter !== 'STRING or STRING_MAP') return this.#expect(arg, parameter, message);
    const part = this.#part(arg, 'any');
    return part.type === 'STRING_MAP' ? part : this.#expect(arg, 'STRING', message);
  }
}

function application(evaluates: readonly Evaluate[], apply: Apply, acceptsAbsent: boolean): Evaluate {
  return (bag) => {
    const values = evaluates.map((evaluate) => evaluate(bag));
    return acceptsAbsent || !values.includes(undefined) ? apply(values) : undefined;
  };
}

/** What text beside a value of a type is taken for: what is added to a time is a span of time. */
const besides = (operator: BinaryOperator, type: ValueType): ValueType =>
  type === 'TIMESTAMP' && (operator === '+' || operator === '-') ? 'DURATION' : type;

const constant = (type: ValueType, value: Value): Part => ({ type, evaluate: () => value, literal: value });
const ofSame = (same: Expected): ValueType => (same === 'any' ? 'STRING' : same);
const named = (type: Parameter | Expected): string => (type === 'any' || type === 'same' ? 'a value' : type);
const differ = (operator: string, left: ValueType, right: ValueType): string =>
  `"${operator}" cannot stand between ${left} and ${right}`;
