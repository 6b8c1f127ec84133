import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Duration, seconds } from '../../lib/duration.ts';
import { formatProblem, MeshError, type Problem } from '../../lib/errors.ts';
import { findKind, groupOf, type Kinds } from '../../model/kinds.ts';
import { describeRef, type KubeObject, type ObjectRef, type ResourceKind } from '../../model/object.ts';
import type { KindedObject } from '../../model/parse/object.ts';
import { removeDurably, writeAtomically } from './atomic-write.ts';
import { editText, printObject } from './directory-edit.ts';
import { acquireLock, type Lock } from './directory-lock.ts';
import { type Definition, DirectoryTree, SETTLE_MS } from './directory-tree.ts';
import { DirectoryWatcher } from './directory-watcher.ts';
import { ObjectIndex } from './object-index.ts';
import type { ObjectStore, WatchEvent, WatchOptions } from './object-store.ts';
import { admit, keyOf, refOf, stampNew, stampReplacement, type ValidateObject, withoutVersion } from './stored-object.ts';

export interface DirectoryStoreOptions {
  readonly root: string;
  readonly kinds: Kinds;
  readonly now: () => Date;
  /** Makes the uid of a new object; also names lock holders, so it must never repeat. */
  readonly newUid: () => string;
  /** What is wrong with an object beyond what all kinds have in common: such an object is refused, in files too. */
  readonly validate?: ValidateObject;
  /** How often the whole tree is looked at while somebody watches, whatever the system reports. Default 1 minute. */
  readonly resync?: Duration;
  /** Gets every problem that there is, whenever that changes. */
  readonly onProblem?: (problems: readonly Problem[]) => void;
}

const LOCK_FILE = '.mesh-store.lock';

/**
 * Objects in a directory tree of YAML and JSON files, shared with other processes and with people's editors. See
 * docs/reference/directory-store.md for what it promises about files.
 */
export class DirectoryStore implements ObjectStore {
  readonly #options: DirectoryStoreOptions;
  readonly #tree: DirectoryTree;
  readonly #index = new ObjectIndex();
  #watcher: DirectoryWatcher | undefined;
  #resync: NodeJS.Timeout | undefined;
  #look: NodeJS.Timeout | undefined;
  #reported = '[]';
  /** The last write of this store; the next one waits for it. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: DirectoryStoreOptions) {
    this.#options = options;
    this.#tree = new DirectoryTree(options.root, { kinds: options.kinds, validate: options.validate }, options.now);
  }

  async list(kind: ResourceKind, namespace?: string): Promise<readonly KubeObject[]> {
    this.#refreshUnlessWatching();
    return this.#index.list(kind, namespace);
  }

  async get(ref: ObjectRef): Promise<KubeObject> {
    this.#refreshUnlessWatching();
    const found = this.#index.get(ref);
    if (found === undefined) throw notFound(ref);
    return found;
  }

  async create(object: KubeObject): Promise<KubeObject> {
    const admitted = admit(object, this.#options.kinds, this.#options.validate);
    return this.#exclusively(async (lock) => {
      const ref = refOf(admitted);
      const existing = this.#tree.find(keyOf(admitted.kind, admitted.object.metadata));
      if (existing !== undefined)
        throw new MeshError('already_exists', `${describeRef(ref)} already exists (${this.#placeOf(existing)})`);
      const stored = stampNew(admitted.object, this.#options.newUid(), this.#options.now());
      const text = printObject(withoutVersion(stored), 'yaml');
      await writeAtomically(this.#newPath(admitted), text, { secret: isSecret(admitted), beforeCommit: () => lock.assertHeld() });
      return this.#written(ref);
    });
  }

  async replace(object: KubeObject): Promise<KubeObject> {
    const admitted = admit(object, this.#options.kinds, this.#options.validate);
    return this.#exclusively(async (lock) => {
      const ref = refOf(admitted);
      const definition = this.#require(ref);
      const before = definition.object.object;
      const stored = stampReplacement(admitted.object, before);
      if (stored.metadata.resourceVersion === before.metadata.resourceVersion) return before;
      await this.#edit(definition, withoutVersion(stored), lock);
      return this.#written(ref);
    });
  }

  async delete(ref: ObjectRef): Promise<void> {
    await this.#exclusively(async (lock) => {
      await this.#edit(this.#require(ref), undefined, lock);
      this.#refresh({ patient: false });
    });
  }

  async *watch(kind: ResourceKind, options: WatchOptions): AsyncGenerator<WatchEvent, void, undefined> {
    if (options.signal.aborted) return;
    if (this.#watcher === undefined) this.#startWatching();
    yield* this.#index.watch(kind, options);
  }

  /** What is wrong with the files right now. */
  problems(): readonly Problem[] {
    return this.#tree.problems();
  }

  placeOf({ apiVersion, kind, metadata }: KubeObject): string | undefined {
    const known = findKind(this.#options.kinds, apiVersion, kind);
    const found = known === undefined ? undefined : this.#tree.find(keyOf(known, metadata));
    return found === undefined ? undefined : this.#placeOf(found);
  }

  async close(): Promise<void> {
    this.#watcher?.close();
    this.#watcher = undefined;
    clearInterval(this.#resync);
    clearTimeout(this.#look);
    this.#look = undefined;
    this.#index.close();
    await this.#turn.catch(() => {});
  }

  /** Somebody who watches is told of changes; everybody else looks for himself. */
  #refreshUnlessWatching(): void {
    if (this.#watcher === undefined) this.#refresh({ patient: false });
  }

  #refresh(options: { readonly patient: boolean }): void {
    const { unsettled } = this.#tree.refresh(options);
    this.#index.replaceAll(this.#tree.objects());
    this.#watcher?.follow(this.#tree.directories());
    if (unsettled && this.#watcher !== undefined) this.#lookSoon();
    this.#report();
  }

  #report(): void {
    const problems = this.#tree.problems();
    const reported = JSON.stringify(problems);
    if (reported === this.#reported) return;
    this.#reported = reported;
    this.#options.onProblem?.(problems);
  }

  #startWatching(): void {
    this.#watcher = new DirectoryWatcher(this.#options.root, () => this.#lookSoon());
    this.#watcher.follow(['']);
    this.#refresh({ patient: false });
    this.#resync = setInterval(() => this.#refresh({ patient: true }), this.#options.resync ?? seconds(60));
  }

  /** Looks once the file that just changed has settled; the events until then are one. */
  #lookSoon(): void {
    if (this.#look !== undefined || this.#watcher === undefined) return;
    this.#look = setTimeout(() => {
      this.#look = undefined;
      this.#refresh({ patient: true });
    }, SETTLE_MS + 1);
  }

  /** Runs a change alone among all processes, on what the files say now. */
  async #exclusively<T>(change: (lock: Lock) => Promise<T>): Promise<T> {
    const { root, newUid, now } = this.#options;
    const run = async (): Promise<T> => {
      const lock = await acquireLock(join(root, LOCK_FILE), { newToken: newUid, now });
      try {
        this.#refresh({ patient: false });
        for (const path of this.#tree.leftovers()) await rm(join(root, path), { force: true });
        return await change(lock);
      } finally {
        await lock.release();
      }
    };
    const result = this.#turn.then(run, run);
    this.#turn = result.catch(() => {});
    return result;
  }

  #require(ref: ObjectRef): Definition {
    const found = this.#tree.find(keyOf(ref.kind, ref));
    if (found === undefined) throw notFound(ref);
    if (found.broken !== undefined) {
      throw new MeshError(
        'failed_precondition',
        `${describeRef(ref)} cannot be changed before its file is repaired: ${found.broken}`,
      );
    }
    return found;
  }

  async #edit(definition: Definition, object: KubeObject | undefined, lock: Lock): Promise<void> {
    const { path, object: place } = definition;
    const text = editText(readFileSync(path, 'utf8'), place, object, path.toLowerCase().endsWith('.json') ? 'json' : 'yaml');
    const beforeCommit = (): Promise<void> => lock.assertHeld();
    if (text === undefined) return removeDurably(path, beforeCommit);
    const secret = this.#tree.holdsSecrets(definition.file);
    await writeAtomically(path, text, { secret, beforeCommit, modifiedAt: new Date(definition.createdAt) });
  }

  /** The object that was just written, as every reader of the file finds it. */
  #written(ref: ObjectRef): KubeObject {
    this.#refresh({ patient: false });
    const found = this.#index.get(ref);
    if (found !== undefined) return found;
    const reasons = this.#tree.problems().map(formatProblem).join('; ');
    throw new MeshError('internal', `${describeRef(ref)} was written but cannot be read back: ${reasons}`);
  }

  #placeOf(definition: Definition): string {
    return `${join(this.#options.root, definition.file)}:${definition.object.line}`;
  }

  /** `<namespace, or _cluster>/<plural.group>/<name>.yaml`, or with a number where that is taken by something else. */
  #newPath({ kind, object }: KindedObject): string {
    const { name, namespace } = object.metadata;
    const group = groupOf(kind);
    const directory = join(
      this.#options.root,
      kind.namespaced ? (namespace ?? '') : '_cluster',
      group === '' ? kind.plural : `${kind.plural}.${group}`,
    );
    const stem =
      name.length <= LONGEST_STEM
        ? name
        : `${name.slice(0, LONGEST_STEM)}-${createHash('sha256').update(name).digest('hex').slice(0, 16)}`;
    for (let number = 1; ; number++) {
      const path = join(directory, number === 1 ? `${stem}.yaml` : `${stem}-${number}.yaml`);
      if (!existsSync(path)) return path;
    }
  }
}

/** File names end at 255 bytes; object names may be longer with the suffix. */
const LONGEST_STEM = 200;

function isSecret({ kind }: KindedObject): boolean {
  return kind.kind === 'Secret' && kind.apiVersion === 'v1';
}

function notFound(ref: ObjectRef): MeshError {
  return new MeshError('not_found', `${describeRef(ref)} does not exist`);
}
