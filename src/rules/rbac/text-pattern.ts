/** What a text may be, as roles and bindings say it: `reviews`, `/books/*`, `*.example`, or `*` for any. */
export type TextPattern = { readonly kind: 'any' } | { readonly kind: 'exact' | 'prefix' | 'suffix'; readonly text: string };

/** What keeps a text from being a pattern; one that is taken for something else would allow what nobody meant. */
export function patternProblem(text: string): string | undefined {
  if (text === '') return 'must not be empty';
  if (text === '*') return undefined;
  const { length } = text.split('*');
  if (length === 1 || (length === 2 && (text.startsWith('*') || text.endsWith('*')))) return undefined;
  return `"${text}": a * stands at the beginning or at the end, for any text there`;
}

/** The pattern that a text without a patternProblem is. */
export function patternOf(text: string): TextPattern {
  if (text === '*') return { kind: 'any' };
  if (text.endsWith('*')) return { kind: 'prefix', text: text.slice(0, -1) };
  if (text.startsWith('*')) return { kind: 'suffix', text: text.slice(1) };
  return { kind: 'exact', text };
}

export function fits(pattern: TextPattern, value: string): boolean {
  switch (pattern.kind) {
    case 'any':
      return true;
    case 'exact':
      return value === pattern.text;
    case 'prefix':
      return value.startsWith(pattern.text);
    case 'suffix':
      return value.endsWith(pattern.text);
  }
}
