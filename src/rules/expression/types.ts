import type { AttributeBag } from '../attribute/bag.ts';
import type { Value, ValueType } from '../attribute/value.ts';

/**
 * An expression, checked and compiled once. It depends on nothing but the bag and never throws: `undefined` means that an attribute it
 * needs is absent and no `|` gave another, or that a value cannot be used as asked (a division by zero, text that is no IP address).
 * Equality alone has an answer then too: what is absent equals nothing.
 */
export interface CompiledExpression {
  readonly text: string;
  readonly type: ValueType;
  evaluate(bag: AttributeBag): Value | undefined;
  /** Every attribute it may ask for. */
  readonly attributes: ReadonlySet<string>;
  /** The STRING attributes that must have one of these values wherever a BOOL expression is true, for indexes of rules. */
  readonly requires: ReadonlyMap<string, ReadonlySet<string>>;
}

/** @throws MeshError `invalid` with line and column of the mistake, what is expected and what was found */
export type CompileExpression = (text: string, expected: ValueType | 'any') => CompiledExpression;
