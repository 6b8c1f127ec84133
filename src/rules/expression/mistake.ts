import { MeshError } from '../../lib/errors.ts';

/** An error that shows where in an expression it is: line and column, from 1. */
export function mistake(text: string, at: number, message: string): MeshError {
  const before = text.slice(0, at).split('\n');
  const column = (before.at(-1)?.length ?? 0) + 1;
  const place = text.includes('\n') ? `line ${before.length}, column ${column}` : `column ${column}`;
  return new MeshError('invalid', `${place}: ${message}`);
}

/** How the message begins, behind the place, about an attribute that no vocabulary has. */
export const NO_ATTRIBUTE = 'there is no attribute';

/** Whether a problem is only that an attribute is not known: an attributemanifest may still make it known. */
export function isOfUnknownAttribute(message: string): boolean {
  return message.includes(`: ${NO_ATTRIBUTE} `);
}
