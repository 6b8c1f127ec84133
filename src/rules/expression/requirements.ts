import type { Expression } from './syntax.ts';

export type Requirements = ReadonlyMap<string, ReadonlySet<string>>;

const NONE: Requirements = new Map();

/**
 * The attributes that must be one of some texts wherever an expression is true: `a == "x" && (b == "y" || b == "z")` requires `x` of `a`,
 * and `y` or `z` of `b`. It may say less than is true, never more. `isString` tells the attributes whose equality is that of their texts.
 */
export function requirements(node: Expression, isString: (attribute: string) => boolean): Requirements {
  if (node.kind !== 'binary') return NONE;
  const { operator, left, right } = node;
  const of = (side: Expression): Requirements => requirements(side, isString);
  if (operator === '==') return equality(left, right, isString) ?? equality(right, left, isString) ?? NONE;
  if (operator === '&&') return both(of(left), of(right));
  if (operator === '||') return either(of(left), of(right));
  return NONE;
}

function equality(
  attribute: Expression,
  literal: Expression,
  isString: (attribute: string) => boolean,
): Requirements | undefined {
  if (
    attribute.kind !== 'attribute' ||
    !isString(attribute.name) ||
    literal.kind !== 'literal' ||
    literal.literal.type !== 'STRING'
  )
    return undefined;
  return new Map([[attribute.name, new Set([literal.literal.value])]]);
}

function both(left: Requirements, right: Requirements): Requirements {
  const joined = new Map(left);
  for (const [name, texts] of right) joined.set(name, joined.get(name)?.intersection(texts) ?? texts);
  return joined;
}

function either(left: Requirements, right: Requirements): Requirements {
  const joined = new Map<string, ReadonlySet<string>>();
  for (const [name, texts] of left) {
    const others = right.get(name);
    if (others !== undefined) joined.set(name, texts.union(others));
  }
  return joined;
}
