import { createHash } from 'node:crypto';
import type { Redacted } from '../lib/redacted.ts';

/** A private key and the certificates that go with it. */
export interface Identity {
  readonly keyPem: Redacted;
  /** PEM: leaf first, then the intermediates. */
  readonly chainPem: string;
  readonly obtainedAt: Date;
  readonly notAfter: Date;
}

/** What the proxy is given; undefined as long as there is none. */
export interface Secrets {
  readonly identity: Identity | undefined;
  /** PEM of the roots that peers are checked against. */
  readonly rootsPem: string | undefined;
}

/** The secrets of now, in memory only; whoever serves them is told of changes. */
export class SecretHolder {
  #secrets: Secrets = { identity: undefined, rootsPem: undefined };
  readonly #listeners = new Set<() => void>();

  get current(): Secrets {
    return this.#secrets;
  }

  set(change: Partial<Secrets>): void {
    this.#secrets = { ...this.#secrets, ...change };
    for (const listener of [...this.#listeners]) listener();
  }

  /** Calls the listener after every change, until the function that it returns is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** The same content gives the same version, so that a proxy that comes back is not pushed what it has. */
export function contentVersion(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16);
}
