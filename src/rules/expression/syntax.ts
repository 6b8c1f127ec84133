/** The tree of an expression. `at` is the offset in the text where a part begins, for messages. */
export type Expression =
  | { readonly kind: 'literal'; readonly literal: Literal; readonly at: number }
  | { readonly kind: 'attribute'; readonly name: string; readonly at: number }
  | { readonly kind: 'index'; readonly map: Expression; readonly key: Expression; readonly at: number }
  /** A receiver is the first argument: `a.f(b)` is `f(a, b)`. */
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Expression[]; readonly at: number }
  | { readonly kind: 'unary'; readonly operator: UnaryOperator; readonly operand: Expression; readonly at: number }
  | {
      readonly kind: 'binary';
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
      readonly at: number;
    };

export type Literal =
  | { readonly type: 'STRING'; readonly value: string }
  | { readonly type: 'INT64'; readonly value: bigint }
  | { readonly type: 'DOUBLE'; readonly value: number }
  | { readonly type: 'BOOL'; readonly value: boolean };

export type UnaryOperator = '!' | '-';

/** Operators of two operands and how tightly they bind (https://go.dev/ref/spec#Operator_precedence). */
export const PRECEDENCE = {
  '||': 1,
  '&&': 2,
  '==': 3,
  '!=': 3,
  '<': 3,
  '<=': 3,
  '>': 3,
  '>=': 3,
  '+': 4,
  '-': 4,
  '|': 4,
  '*': 5,
  '/': 5,
  '%': 5,
} as const;

export type BinaryOperator = keyof typeof PRECEDENCE;
