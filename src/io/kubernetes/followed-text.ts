import { readFile } from 'node:fs/promises';
import { MeshError } from '../../lib/errors.ts';
import { Redacted } from '../../lib/redacted.ts';
import type { Material } from './access.ts';

/** A file is looked at again after this long: tokens are renewed many minutes before they end. */
const FRESH_MS = 10_000;

/** Text that may be in a file: the file is read again from time to time, and its last good content outlives a bad moment. */
export class FollowedText {
  readonly #material: Material;
  readonly #now: () => Date;
  #text: Redacted | undefined;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(material: Material, now: () => Date) {
    this.#material = material;
    this.#now = now;
  }

  get isFile(): boolean {
    return this.#material.type === 'file';
  }

  /** Rejects with `failed_precondition` while the file could never be read. */
  async read(): Promise<Redacted> {
    if (this.#material.type === 'inline') return this.#material.text;
    const now = this.#now().getTime();
    if (this.#text !== undefined && Math.abs(now - this.#readAt) < FRESH_MS) return this.#text;
    const { path } = this.#material;
    try {
      const text = (await readFile(path, 'utf8')).trim();
      if (text === '') throw new Error('it is empty');
      this.#text = new Redacted(text);
      this.#readAt = now;
    } catch (error) {
      if (this.#text === undefined)
        throw new MeshError('failed_precondition', `${path} cannot be read: ${MeshError.from(error).message}`, error);
    }
    return this.#text;
  }

  /** The next read looks at the file, however young the last one is. */
  forget(): void {
    this.#readAt = Number.NEGATIVE_INFINITY;
  }
}
