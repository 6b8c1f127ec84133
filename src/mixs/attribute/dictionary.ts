import { MeshError } from '../../lib/errors.ts';
import { GLOBAL_WORDS } from './global-words.ts';

const GLOBAL_INDEX: ReadonlyMap<string, number> = new Map(GLOBAL_WORDS.map((word, index) => [word, index]));

/**
 * The words of one message: an index of 0 and above is one of the global words, -1 the first of the message's own, -2 the second.
 * `globalWordCount` is how many global words the client knows.
 */
export class Dictionary {
  readonly #words: readonly string[];
  readonly #globalWordCount: number;

  /** @throws MeshError `invalid` when the client knows words that this server does not */
  constructor(words: readonly string[], globalWordCount: number) {
    if (globalWordCount > GLOBAL_WORDS.length) {
      throw new MeshError(
        'invalid',
        `global_word_count: the client uses ${globalWordCount} global words, this server knows ${GLOBAL_WORDS.length}; ` +
          'the client speaks a later version, and must send other words with its messages',
      );
    }
    this.#words = words;
    this.#globalWordCount = globalWordCount;
  }

  /** @throws MeshError `invalid` for an index without a word */
  word(index: number): string {
    const word = index >= 0 ? this.#global(index) : this.#words[-index - 1];
    if (word === undefined) {
      const known = `${this.#globalWordCount} global words, ${this.#words.length} of the message`;
      throw new MeshError('invalid', `attributes: there is no word of index ${index} (${known})`);
    }
    return word;
  }

  #global(index: number): string | undefined {
    return index < this.#globalWordCount ? GLOBAL_WORDS[index] : undefined;
  }
}

/** Collects the words of a message that is sent, for a client that knows `globalWordCount` of the global ones. */
export class DictionaryWriter {
  readonly words: string[] = [];
  readonly #own = new Map<string, number>();
  readonly #globalWordCount: number;

  constructor(globalWordCount: number) {
    this.#globalWordCount = globalWordCount;
  }

  indexOf(word: string): number {
    const global = GLOBAL_INDEX.get(word);
    if (global !== undefined && global < this.#globalWordCount) return global;
    const known = this.#own.get(word);
    if (known !== undefined) return known;
    this.words.push(word);
    this.#own.set(word, -this.words.length);
    return -this.words.length;
  }
}
