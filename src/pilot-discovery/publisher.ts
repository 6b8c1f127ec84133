import type { Change, ConfigSource, Grain, ProxyNode, ResourceSet, TypeUrl } from '../delivery/ports.ts';
import { MeshError } from '../lib/errors.ts';
import type { Snapshot } from '../model/snapshot.ts';

/** Turns a snapshot into what one proxy gets of one type; answers from its cache (xds/translate). */
export interface Translator {
  resources(snapshot: Snapshot, node: ProxyNode, typeUrl: TypeUrl, grain: Grain): ResourceSet;
}

/** Holds the snapshot in force and tells delivery of new ones. */
export class Publisher implements ConfigSource {
  readonly #translator: Translator;
  readonly #listeners = new Set<(change: Change) => void>();
  #snapshot: Snapshot | undefined;
  #sequence = 0;

  constructor(translator: Translator) {
    this.#translator = translator;
  }

  get sequence(): number {
    return this.#sequence;
  }

  get snapshot(): Snapshot | undefined {
    return this.#snapshot;
  }

  publish(snapshot: Snapshot): void {
    this.#snapshot = snapshot;
    this.#sequence += 1;
    this.#tell('snapshot');
  }

  /** Sends every proxy everything again. */
  resend(): void {
    if (this.#snapshot !== undefined) this.#tell('resend');
  }

  #tell(change: Change): void {
    for (const listener of this.#listeners) listener(change);
  }

  resources(node: ProxyNode, typeUrl: TypeUrl, grain: Grain): ResourceSet {
    if (this.#snapshot === undefined) throw new MeshError('unavailable', 'the configuration has not been read yet; try again');
    return this.#translator.resources(this.#snapshot, node, typeUrl, grain);
  }

  onChange(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
