/** A Secret of the store that keeps PEM texts of the authority: keys and certificates under their file names. */
import { MeshError } from '../lib/errors.ts';
import { Redacted } from '../lib/redacted.ts';
import type { Kinds } from '../model/kinds.ts';
import { describeRef, type KubeObject, type ObjectRef } from '../model/object.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';

export type PemEntries = Readonly<Record<string, Redacted>>;

/** The Secret as it was read; what it is replaced with must follow on just that. */
export interface StoredPems {
  readonly object: KubeObject;
  /** Undefined where there is no such entry, or an empty one. */
  entry(key: string): Redacted | undefined;
}

export interface PemSecretOptions {
  readonly store: ObjectStore;
  readonly kinds: Kinds;
  readonly namespace: string;
  readonly name: string;
  /** The Secret's type. */
  readonly type: string;
}

export class PemSecret {
  readonly #options: PemSecretOptions;

  constructor(options: PemSecretOptions) {
    this.#options = options;
  }

  /** `Secret mesh-system/mesh-ca-secret` */
  get description(): string {
    return describeRef(this.#ref);
  }

  /** Undefined only if there is no such Secret; rejects with any other failure to read it. */
  async read(): Promise<StoredPems | undefined> {
    try {
      const object = await this.#options.store.get(this.#ref);
      return { object, entry: (key) => entryOf(object, key) };
    } catch (thrown) {
      const error = MeshError.from(thrown);
      if (error.code === 'not_found') return undefined;
      throw new MeshError(error.code, `${this.description} cannot be read: ${error.message}`, error);
    }
  }

  /** Writes the entries, in place of what was read before; false when another replica was first. */
  async write(entries: PemEntries, before: StoredPems | undefined): Promise<boolean> {
    const { store } = this.#options;
    const secret = this.#objectOf(entries, before?.object);
    try {
      await (before === undefined ? store.create(secret) : store.replace(secret));
      return true;
    } catch (thrown) {
      const error = MeshError.from(thrown);
      if (error.code === 'already_exists' || error.code === 'conflict') return false;
      throw new MeshError(error.code, `${this.description} cannot be written: ${error.message}`, error);
    }
  }

  get #ref(): ObjectRef {
    const { kinds, namespace, name } = this.#options;
    return { kind: kinds.secret, namespace, name };
  }

  #objectOf(entries: PemEntries, before: KubeObject | undefined): KubeObject {
    const { kinds, namespace, name, type } = this.#options;
    const { apiVersion, kind } = kinds.secret;
    const data = Object.entries(entries).map(([key, pem]) => [key, Buffer.from(pem.reveal()).toString('base64')]);
    return { apiVersion, kind, metadata: { ...before?.metadata, name, namespace }, type, data: Object.fromEntries(data) };
  }
}

function entryOf(object: KubeObject, key: string): Redacted | undefined {
  const data = object['data'];
  const value = typeof data === 'object' && data !== null ? (data as Readonly<Record<string, unknown>>)[key] : undefined;
  if (typeof value !== 'string' || value === '') return undefined;
  return new Redacted(Buffer.from(value, 'base64').toString('utf8'));
}
