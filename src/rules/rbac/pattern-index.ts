import type { TextPattern } from './text-pattern.ts';

/** Values by pattern, so that those for a text are found without a look at the others. */
export class PatternIndex<T> {
  readonly #any: T[] = [];
  readonly #exact = new Map<string, T[]>();
  readonly #prefix = new AffixIndex<T>((text, length) => text.slice(0, length));
  readonly #suffix = new AffixIndex<T>((text, length) => text.slice(text.length - length));

  add(pattern: TextPattern, value: T): void {
    switch (pattern.kind) {
      case 'any':
        this.#any.push(value);
        return;
      case 'exact':
        append(this.#exact, pattern.text, value);
        return;
      case 'prefix':
        this.#prefix.add(pattern.text, value);
        return;
      case 'suffix':
        this.#suffix.add(pattern.text, value);
    }
  }

  /** The values whose pattern fits: exact ones first. One that was added under several patterns comes once for each that fits. */
  *fitting(text: string): Generator<T> {
    yield* this.#exact.get(text) ?? [];
    yield* this.#prefix.fitting(text);
    yield* this.#suffix.fitting(text);
    yield* this.#any;
  }
}

/** Values by the beginnings, or by the ends, of texts: one look for each length that there is. */
class AffixIndex<T> {
  readonly #affixOf: (text: string, length: number) => string;
  readonly #byAffix = new Map<string, T[]>();
  readonly #lengths = new Set<number>();

  constructor(affixOf: (text: string, length: number) => string) {
    this.#affixOf = affixOf;
  }

  add(affix: string, value: T): void {
    append(this.#byAffix, affix, value);
    this.#lengths.add(affix.length);
  }

  *fitting(text: string): Generator<T> {
    for (const length of this.#lengths) {
      if (length <= text.length) yield* this.#byAffix.get(this.#affixOf(text, length)) ?? [];
    }
  }
}

function append<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
