/** Answers of REST discovery, kept by who asked for what at which snapshot; bodies that are the same for many are kept once. */
import type { Interest } from './interest.ts';
import type { ResourceSet } from './ports.ts';

/** What a proxy gets, before it is written down. */
export interface Answer {
  readonly set: ResourceSet;
  readonly interest: Interest;
  readonly version: string;
}

export interface CacheStats {
  readonly hits: number;
  readonly misses: number;
  readonly evictions: number;
  readonly answers: number;
  readonly bodies: number;
  readonly bodyBytes: number;
}

export interface CacheLimits {
  readonly maxAnswers: number;
  readonly maxBodyBytes: number;
}

/** Whether a cache had something, for the metric. */
export type CacheRead = 'hit' | 'miss';

export class AnswerCache {
  readonly #limits: CacheLimits;
  readonly #onRead: (read: CacheRead) => void;
  /** Least recently used first, both. */
  readonly #answers = new Map<string, Answer & { readonly sequence: number }>();
  readonly #bodies = new Map<string, Buffer>();
  #bodyBytes = 0;
  readonly #counts = { hits: 0, misses: 0, evictions: 0 };

  constructor(limits: CacheLimits, onRead: (read: CacheRead) => void) {
    this.#limits = limits;
    this.#onRead = onRead;
  }

  /** The answer to `key` at a snapshot; `make` is asked for it the first time. */
  answer(key: string, sequence: number, make: () => Answer): Answer {
    const known = this.#answers.get(key);
    this.#answers.delete(key);
    if (known?.sequence === sequence) {
      this.#answers.set(key, known);
      this.#count('hit');
      return known;
    }
    this.#count('miss');
    const made = { ...make(), sequence };
    this.#answers.set(key, made);
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > this.#limits.maxAnswers && oldest !== undefined) {
      this.#answers.delete(oldest);
      this.#counts.evictions += 1;
    }
    return made;
  }

  /** The body of a content, which `key` names with its format. */
  body(key: string, make: () => Buffer): Buffer {
    const body = this.#bodies.get(key) ?? make();
    if (this.#bodies.delete(key)) this.#bodyBytes -= body.length;
    this.#bodies.set(key, body);
    this.#bodyBytes += body.length;
    for (const [oldest, { length }] of this.#bodies) {
      if (this.#bodyBytes <= this.#limits.maxBodyBytes) break;
      this.#bodies.delete(oldest);
      this.#bodyBytes -= length;
      this.#counts.evictions += 1;
    }
    return body;
  }

  stats(): CacheStats {
    return { ...this.#counts, answers: this.#answers.size, bodies: this.#bodies.size, bodyBytes: this.#bodyBytes };
  }

  #count(read: CacheRead): void {
    this.#counts[read === 'hit' ? 'hits' : 'misses'] += 1;
    this.#onRead(read);
  }
}
