import type { AttributeBag } from '../attribute/bag.ts';
import type { Value, ValueType } from '../attribute/value.ts';
import { FROM_TEXT, type TextualType } from './canonical.ts';
import type { BinaryOperator, UnaryOperator } from './syntax.ts';

export type Evaluate = (bag: AttributeBag) => Value | undefined;

interface Meaning {
  readonly result: ValueType;
  apply(left: Value, right: Value): Value | undefined;
}

/** The meanings of an operator for one type on its left, by the type on its right. */
export type Operation = Partial<Record<ValueType, Meaning>>;

type Table = Partial<Record<ValueType, Operation>>;

const WRAPS_AT = 64;

const comparison = (apply: (left: Value, right: Value) => boolean): Meaning => ({ result: 'BOOL', apply });

/** One meaning for types whose values compare as JavaScript compares them. */
function same(types: readonly ValueType[], meaning: Meaning): Table {
  return Object.fromEntries(types.map((type) => [type, { [type]: meaning }]));
}

const COMPARABLE = [
  'STRING',
  'INT64',
  'DOUBLE',
  'BOOL',
  'TIMESTAMP',
  'DURATION',
  'IP_ADDRESS',
  'DNS_NAME',
  'EMAIL_ADDRESS',
  'URI',
] as const satisfies readonly ValueType[];
const ORDERED = ['STRING', 'INT64', 'DOUBLE', 'TIMESTAMP', 'DURATION'] as const satisfies readonly ValueType[];

/** 64-bit arithmetic wraps, as Go's does. A value of another type than was checked has no result. */
const onIntegers =
  (compute: (left: bigint, right: bigint) => bigint | undefined): Meaning['apply'] =>
  (left, right) => {
    if (typeof left !== 'bigint' || typeof right !== 'bigint') return undefined;
    const value = compute(left, right);
    return value === undefined ? undefined : BigInt.asIntN(WRAPS_AT, value);
  };

const onDoubles =
  (compute: (left: number, right: number) => number): Meaning['apply'] =>
  (left, right) =>
    typeof left === 'number' && typeof right === 'number' ? compute(left, right) : undefined;

function arithmetic(
  integers: (left: bigint, right: bigint) => bigint | undefined,
  doubles: (left: number, right: number) => number,
): Table {
  return {
    INT64: { INT64: { result: 'INT64', apply: onIntegers(integers) } },
    DOUBLE: { DOUBLE: { result: 'DOUBLE', apply: onDoubles(doubles) } },
  };
}

const plus = (left: bigint, right: bigint): bigint => left + right;
const minus = (left: bigint, right: bigint): bigint => left - right;
const spans = (result: ValueType, compute: (left: bigint, right: bigint) => bigint): Meaning => ({
  result,
  apply: onIntegers(compute),
});

const ADDITION: Table = {
  ...arithmetic(plus, (left, right) => left + right),
  STRING: { STRING: { result: 'STRING', apply: (left, right) => `${left}${right}` } },
  DURATION: { DURATION: spans('DURATION', plus), TIMESTAMP: spans('TIMESTAMP', plus) },
  TIMESTAMP: { DURATION: spans('TIMESTAMP', plus) },
};

const SUBTRACTION: Table = {
  ...arithmetic(minus, (left, right) => left - right),
  DURATION: { DURATION: spans('DURATION', minus) },
  TIMESTAMP: { TIMESTAMP: spans('DURATION', minus), DURATION: spans('TIMESTAMP', minus) },
};

export const BINARY: Readonly<Record<Exclude<BinaryOperator, '&&' | '||' | '|'>, Table>> = {
  '==': same(
    COMPARABLE,
    comparison((left, right) => left === right),
  ),
  '!=': same(
    COMPARABLE,
    comparison((left, right) => left !== right),
  ),
  '<': same(
    ORDERED,
    comparison((left, right) => left < right),
  ),
  '<=': same(
    ORDERED,
    comparison((left, right) => left <= right),
  ),
  '>': same(
    ORDERED,
    comparison((left, right) => left > right),
  ),
  '>=': same(
    ORDERED,
    comparison((left, right) => left >= right),
  ),
  '+': ADDITION,
  '-': SUBTRACTION,
  '*': arithmetic(
    (left, right) => left * right,
    (left, right) => left * right,
  ),
  '/': arithmetic(
    (left, right) => (right === 0n ? undefined : left / right),
    (left, right) => left / right,
  ),
  '%': { INT64: { INT64: { result: 'INT64', apply: onIntegers((left, right) => (right === 0n ? undefined : left % right)) } } },
};

const negate = (value: Value): Value =>
  typeof value === 'bigint' ? BigInt.asIntN(WRAPS_AT, -value) : typeof value === 'number' ? -value : value;

export const UNARY: Readonly<Record<UnaryOperator, Partial<Record<ValueType, (value: Value) => Value>>>> = {
  '!': { BOOL: (value) => value !== true },
  '-': { INT64: negate, DOUBLE: negate, DURATION: negate },
};

const SPELT_DIFFERENTLY: ReadonlySet<ValueType> = new Set<TextualType>(['DNS_NAME', 'EMAIL_ADDRESS', 'URI']);

/** A closure whose values are equal where what they name is; a literal is in that form already. */
export function canonicalised(type: ValueType, evaluate: Evaluate, literal: Value | undefined): Evaluate {
  if (literal !== undefined || !SPELT_DIFFERENTLY.has(type)) return evaluate;
  const canonical = FROM_TEXT[type as TextualType];
  return (bag) => {
    const value = evaluate(bag);
    return typeof value === 'string' ? canonical(value) : undefined;
  };
}
