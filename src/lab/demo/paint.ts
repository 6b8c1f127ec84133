/** Colours for a terminal; plain text for everything else. */
export interface Paint {
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly strong: (text: string) => string;
  readonly faint: (text: string) => string;
}

const plain = (text: string): string => text;
const style =
  (code: number) =>
  (text: string): string =>
    `\u001b[${code}m${text}\u001b[0m`;

export const PLAIN: Paint = { good: plain, bad: plain, strong: plain, faint: plain };
/** ECMA-48 graphic renditions. */
export const COLOURED: Paint = { good: style(32), bad: style(31), strong: style(1), faint: style(2) };
