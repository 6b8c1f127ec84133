import { expect } from 'chai';
import fc from 'fast-check';
import { expressionCompiler } from '../../../../src/rules/expression/compile.ts';
import { parseExpression } from '../../../../src/rules/expression/parse.ts';
import { bagOf, vocabularyOf } from '../../../fakes/attributes.ts';

type Plain = string | bigint | boolean | undefined;

/** An expression as a tree of plain nodes, written as text with every pair of parentheses, and walked. */
type Tree =
  | { readonly op: 'value'; readonly value: string | bigint | boolean }
  | { readonly op: 'attribute'; readonly name: string }
  | { readonly op: 'entry'; readonly key: Tree }
  | { readonly op: 'not' | 'minus' | 'size' | 'reverse' | 'toLower'; readonly of: Tree }
  | { readonly op: 'conditional'; readonly on: Tree; readonly yes: Tree; readonly no: Tree }
  | { readonly op: Infix | 'startsWith' | 'endsWith'; readonly left: Tree; readonly right: Tree };

type Infix = '+' | '-' | '*' | '/' | '%' | '|' | '==' | '!=' | '<' | '<=' | '>' | '>=' | '&&' | '||';

const HEADERS = new Map([
  ['a', 'x'],
  ['b', ''],
]);
const BAG = { s: 'abc', t: 'x', i: 7n, j: -3n, b: true, c: false, headers: HEADERS };
const VOCABULARY = vocabularyOf({
  ...{ s: 'STRING', t: 'STRING', noS: 'STRING', i: 'INT64', j: 'INT64', noI: 'INT64' },
  ...{ b: 'BOOL', c: 'BOOL', noB: 'BOOL', headers: 'STRING_MAP' },
});

function textOf(tree: Tree): string {
  switch (tree.op) {
    case 'value':
      return typeof tree.value === 'string' ? JSON.stringify(tree.value) : String(tree.value);
    case 'attribute':
      return tree.name;
    case 'entry':
      return `headers[${textOf(tree.key)}]`;
    case 'not':
      return `!(${textOf(tree.of)})`;
    case 'minus':
      return `-(${textOf(tree.of)})`;
    case 'size':
    case 'reverse':
    case 'toLower':
      return `${tree.op}(${textOf(tree.of)})`;
    case 'startsWith':
    case 'endsWith':
      return `(${textOf(tree.left)}).${tree.op}(${textOf(tree.right)})`;
    case 'conditional':
      return `conditional(${textOf(tree.on)}, ${textOf(tree.yes)}, ${textOf(tree.no)})`;
    default:
      return `(${textOf(tree.left)} ${tree.op} ${textOf(tree.right)})`;
  }
}

function walk(tree: Tree): Plain {
  switch (tree.op) {
    case 'value':
      return tree.value;
    case 'attribute':
      return Object.entries(BAG).find(([name]) => name === tree.name)?.[1] as Plain;
    case 'entry': {
      const key = walk(tree.key);
      return typeof key === 'string' ? HEADERS.get(key) : undefined;
    }
    case 'conditional': {
      const on = walk(tree.on);
      return on === undefined ? undefined : on ? walk(tree.yes) : walk(tree.no);
    }
    case '|':
      return walk(tree.left) ?? walk(tree.right);
    case '&&':
      return walk(tree.left) === true ? walk(tree.right) : walk(tree.left);
    case '||':
      return walk(tree.left) === false ? walk(tree.right) : walk(tree.left);
    case 'not':
    case 'minus':
    case 'size':
    case 'reverse':
    case 'toLower':
      return walkOne(tree.op, walk(tree.of));
    default:
      return walkTwo(tree.op, walk(tree.left), walk(tree.right));
  }
}

function walkOne(op: 'not' | 'minus' | 'size' | 'reverse' | 'toLower', value: Plain): Plain {
  if (value === undefined) return undefined;
  if (op === 'not') return !value;
  if (op === 'minus') return BigInt.asIntN(64, -BigInt(value));
  if (op === 'size') return BigInt([...String(value)].length);
  return op === 'toLower' ? String(value).toLowerCase() : [...String(value)].reverse().join('');
}

function walkTwo(op: Exclude<Infix, '|' | '&&' | '||'> | 'startsWith' | 'endsWith', left: Plain, right: Plain): Plain {
  if (left === undefined || right === undefined) return op === '==' ? false : op === '!=' ? true : undefined;
  if (op === 'startsWith') return String(left).startsWith(String(right));
  if (op === 'endsWith') return String(left).endsWith(String(right));
  if (op === '==') return left === right;
  if (op === '!=') return left !== right;
  if (op === '<') return left < right;
  if (op === '<=') return left <= right;
  if (op === '>') return left > right;
  if (op === '>=') return left >= right;
  if (typeof left === 'string') return left + String(right);
  const [a, b] = [BigInt(left), BigInt(right)];
  if (op === '+') return BigInt.asIntN(64, a + b);
  if (op === '-') return BigInt.asIntN(64, a - b);
  if (op === '*') return BigInt.asIntN(64, a * b);
  if (b === 0n) return undefined;
  return BigInt.asIntN(64, op === '/' ? a / b : a % b);
}

const attribute = (...names: readonly string[]): fc.Arbitrary<Tree> =>
  fc.constantFrom(...names).map((name) => ({ op: 'attribute', name }));
const value = (values: fc.Arbitrary<string | bigint | boolean>): fc.Arbitrary<Tree> =>
  values.map((one) => ({ op: 'value', value: one }));

const { bool } = fc.letrec<{ int: Tree; str: Tree; bool: Tree }>((tie) => {
  const [int, str, bool] = [tie('int'), tie('str'), tie('bool')];
  const infix = (ops: readonly Infix[], side: fc.Arbitrary<Tree>): fc.Arbitrary<Tree> =>
    fc.tuple(fc.constantFrom(...ops), side, side).map(([op, left, right]) => ({ op, left, right }));
  const one = (op: 'not' | 'minus' | 'size' | 'reverse' | 'toLower', side: fc.Arbitrary<Tree>): fc.Arbitrary<Tree> =>
    side.map((of) => ({ op, of }));
  const conditional = (side: fc.Arbitrary<Tree>): fc.Arbitrary<Tree> =>
    fc.tuple(bool, side, side).map(([on, yes, no]) => ({ op: 'conditional', on, yes, no }));
  const depth = { maxDepth: 5, depthIdentifier: 'tree' };
  return {
    int: fc.oneof(
      depth,
      value(fc.oneof(fc.bigInt(0n, 3n), fc.bigInt(0n, 2n ** 63n - 1n))),
      attribute('i', 'j', 'noI'),
      infix(['+', '-', '*', '/', '%', '|'], int),
      one('minus', int),
      one('size', str),
      conditional(int),
    ),
    str: fc.oneof(
      depth,
      value(fc.string({ unit: 'grapheme', maxLength: 3 })),
      attribute('s', 't', 'noS'),
      fc.constantFrom('a', 'b', 'none').map((key): Tree => ({ op: 'entry', key: { op: 'value', value: key } })),
      infix(['+', '|'], str),
      one('reverse', str),
      one('toLower', str),
      conditional(str),
    ),
    bool: fc.oneof(
      depth,
      value(fc.boolean()),
      attribute('b', 'c', 'noB'),
      infix(['==', '!=', '<', '<=', '>', '>='], int),
      infix(['==', '!=', '<', '<=', '>', '>='], str),
      infix(['==', '!=', '&&', '||', '|'], bool),
      one('not', bool),
      conditional(bool),
      fc
        .tuple(fc.constantFrom('startsWith' as const, 'endsWith' as const), str, str)
        .map(([op, left, right]) => ({ op, left, right })),
    ),
  };
});

describe('a compiled expression', () => {
  const compile = expressionCompiler(VOCABULARY);

  it('computes what a walk over its tree computes', () => {
    fc.assert(
      fc.property(bool, (tree) => {
        expect(compile(textOf(tree), 'BOOL').evaluate(bagOf(BAG))).to.equal(walk(tree));
      }),
      { numRuns: 1000 },
    );
  });

  it('is true only where what it requires holds', () => {
    fc.assert(
      fc.property(bool, fc.constantFrom('abc', 'x', ''), (tree, s) => {
        const { evaluate, requires } = compile(textOf(tree), 'BOOL');
        if (evaluate(bagOf({ ...BAG, s })) === true) {
          for (const [name, texts] of requires)
            expect(texts.has(name === 's' ? s : String(Object.entries(BAG).find(([n]) => n === name)?.[1]))).to.equal(true);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

describe('the grammar of expressions', () => {
  it('refuses any text with a message, or reads it', () => {
    const word = fc.oneof(
      fc.constantFrom('(', ')', '[', ']', '.', ',', '"', '`', '&&', '|', '-', '!', 'a', 'f(', '1', '.5', '\\', ' '),
      fc.string({ maxLength: 2 }),
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 12 }), (words) => {
        try {
          parseExpression(words.join(''));
        } catch (thrown) {
          expect(thrown)
            .to.have.property('message')
            .that.matches(/^(line \d+, )?column \d+: \S/);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
