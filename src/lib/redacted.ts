/** A secret (key, token) that prints as `[redacted]` wherever it is logged, inspected or serialised. */
export class Redacted<T extends string | Uint8Array = string> {
  readonly #secret: T;

  constructor(secret: T) {
    this.#secret = secret;
  }

  /** The secret itself; the call is what a reviewer looks for. */
  reveal(): T {
    return this.#secret;
  }

  toString(): string {
    return '[redacted]';
  }

  toJSON(): string {
    return '[redacted]';
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return '[redacted]';
  }
}
