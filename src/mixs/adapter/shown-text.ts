const MAX_SHOWN = 512;

/** A text of somebody else's, fit for one line of a log, a page or an answer. */
export function shown(text: string): string {
  const line = text.replace(/\p{Cc}+/gu, ' ');
  return line.length <= MAX_SHOWN ? line : `${line.slice(0, MAX_SHOWN - 1)}…`;
}
