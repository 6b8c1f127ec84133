import { MeshError } from '../../lib/errors.ts';

/** An error that shows where in an expression it is: line and column, from 1. */
export function mistake(text: string, at: number, message: string): MeshError {
  const before = text.slice(0, at).split('\n');
  const column = (before.at(-1)?.length ?? 0) + 1;
  const place = text.includes('\n') ? `line ${before.length}, column ${column}` : `column ${column}`;
  return new MeshError('invalid', `${place}: ${message}`);
}
