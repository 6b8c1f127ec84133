import type { StringMatch } from '../model/authn-policy.ts';

/** What may follow a path: rules look at the path alone. */
const REST = '(?:[?#].*)?';
const NOT_REST = '[^?#]*';
/** RE2 refuses larger counts. */
const MAX_REPEAT = 1000;

/**
 * A pattern in RE2 syntax that matches a whole `:path` header, query and all, exactly when the path without query and fragment
 * matches. `undefined` when that cannot be guaranteed: a request must not choose its path rule by what it writes into the query.
 */
export function pathPattern(match: StringMatch): string | undefined {
  const { type, value } = match;
  if (type === 'regex') {
    const regex = withinPath(value);
    return regex === undefined ? undefined : `(?:${regex})${REST}`;
  }
  // Such a text can never be in a path.
  if (/[?#]/.test(value)) return undefined;
  const literal = value.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  switch (type) {
    case 'exact':
      return `${literal}${REST}`;
    case 'prefix':
      return `${literal}${NOT_REST}${REST}`;
    case 'suffix':
      return `${NOT_REST}${literal}${REST}`;
  }
}

/** Rewrites a regular expression so that nothing in it can match `?` or `#`; `undefined` for what is not known to be safe. */
function withinPath(source: string): string | undefined {
  let rest = source;
  let depth = 0;
  let rewritten = '';
  while (rest !== '') {
    const token = TOKENS.map(({ shape, rewrite }) => ({ text: shape.exec(rest)?.[0], rewrite })).find(
      ({ text }) => text !== undefined,
    );
    if (token?.text === undefined) return undefined;
    const before = rewritten;
    rest = rest.slice(token.text.length);
    if (token.text.startsWith('(')) depth += 1;
    if (token.text === ')') depth -= 1;
    const text = ANCHORS.includes(token.text) ? anchor(token.text, before, rest, depth) : token.rewrite(token.text);
    if (text === undefined) return undefined;
    rewritten += text;
  }
  return isValid(rewritten) ? rewritten : undefined;
}

const ANCHORS = ['^', '$'];

/** The match is whole anyway, so an anchor at either end says nothing; elsewhere it is not understood. */
function anchor(text: string, before: string, rest: string, depth: number): string | undefined {
  const atEdge = text === '^' ? before === '' || before.endsWith('|') : rest === '' || rest.startsWith('|');
  return depth === 0 && atEdge ? '' : undefined;
}

interface Token {
  readonly shape: RegExp;
  readonly rewrite: (text: string) => string | undefined;
}

const same = (text: string): string => text;

/** In order; what none of them takes is refused. */
const TOKENS: readonly Token[] = [
  { shape: /^\\[dws]/, rewrite: same },
  { shape: /^\\[DWS]/, rewrite: (text) => `[^?#${text.toLowerCase()}]` },
  { shape: /^\\[!-/:->@[-`{-~]/, rewrite: (text) => (text === '\\#' ? undefined : text) },
  { shape: /^\[\^?\]?(?:\\.|[^\]\\])*\]/, rewrite: classWithinPath },
  { shape: /^\(\?:|^\((?!\?)/, rewrite: () => '(?:' },
  { shape: /^\)/, rewrite: same },
  { shape: /^\{\d+(?:,\d*)?\}\??/, rewrite: (text) => (counts(text).every((count) => count <= MAX_REPEAT) ? text : undefined) },
  { shape: /^[{}]/, rewrite: (text) => `\\${text}` },
  { shape: /^[*+?]\??/, rewrite: same },
  { shape: /^\|/, rewrite: same },
  { shape: /^\./, rewrite: () => '[^?#]' },
  { shape: /^[\^$]/, rewrite: same },
  { shape: /^[^\\#?()[\]{}|*+.^$]/, rewrite: same },
];

const counts = (text: string): readonly number[] => (text.match(/\d+/g) ?? []).map(Number);

/** A character class without `?` and `#`. */
function classWithinPath(text: string): string | undefined {
  const negated = text.startsWith('[^');
  const items: readonly string[] = text.slice(negated ? 2 : 1, -1).match(/\\.|[^\\]/g) ?? [];
  // A class in a class (`[[:alpha:]]`) and a leading `]` are read differently by different engines.
  if (items.length === 0 || items.includes('[') || items.includes(']')) return undefined;
  if (items.some((item) => !/^(?:\\[dws]|\\[^0-9A-Za-z]|[^\\])$/.test(item))) return undefined;
  if (negated) return `[^?#${items.join('')}]`;
  const kept = positiveItems(items);
  return kept === undefined || kept === '' ? undefined : `[${kept}]`;
}

function positiveItems(items: readonly string[]): string | undefined {
  let kept = '';
  for (let at = 0; at < items.length; at += 1) {
    const [low = '', dash, high] = items.slice(at, at + 3);
    if (dash === '-' && high !== undefined) {
      const range = rangeWithinPath(low, high);
      if (range === undefined) return undefined;
      kept += range;
      at += 2;
    } else if (!['?', '#', '\\?', '\\#'].includes(low)) kept += low;
  }
  return kept;
}

/** A range of letters or digits holds neither of the two; others are not worth the trouble. */
function rangeWithinPath(low: string, high: string): string | undefined {
  const kinds = [/[0-9]/, /[a-z]/, /[A-Z]/];
  const safe = low.length === 1 && high.length === 1 && kinds.some((kind) => kind.test(low) && kind.test(high));
  return safe ? `${low}-${high}` : undefined;
}

function isValid(regex: string): boolean {
  try {
    return new RegExp(regex) instanceof RegExp;
  } catch {
    return false;
  }
}
