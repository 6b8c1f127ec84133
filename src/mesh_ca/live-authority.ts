/** The authority in force, which changes while the component runs: swapped files, a renewed certificate, a successor of the root. */
import type { X509Certificate } from 'node:crypto';
import type { Authority } from './authority.ts';

export interface LiveAuthority {
  /** What signs now. The same value until it changes. */
  current(): Authority;
  /** Intermediates of authorities before it, the latest first: what they signed is still around. */
  formerIntermediates(): readonly X509Certificate[];
}

const MAX_FORMER = 16;

/** Holds an authority and tells of every change of it. */
export class AuthorityHolder implements LiveAuthority {
  #current: Authority;
  #former: readonly X509Certificate[];
  readonly #listeners: (() => void)[] = [];

  constructor(first: Authority, former: readonly X509Certificate[] = []) {
    this.#current = first;
    this.#former = former.slice(0, MAX_FORMER);
  }

  current(): Authority {
    return this.#current;
  }

  formerIntermediates(): readonly X509Certificate[] {
    return this.#former;
  }

  replace(next: Authority): void {
    if (next === this.#current) return;
    this.#former = [...this.#current.intermediates, ...this.#former].slice(0, MAX_FORMER);
    this.#current = next;
    for (const listener of this.#listeners) listener();
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }
}
