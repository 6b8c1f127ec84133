import { type FSWatcher, watch } from 'node:fs';
import { join } from 'node:path';

/**
 * Notices changes in a tree of directories. It says only that something changed; what, is found by looking. A system that
 * runs out of watches is no error: the periodic look finds changes too.
 */
export class DirectoryWatcher {
  readonly #root: string;
  readonly #onEvent: () => void;
  readonly #watchers = new Map<string, FSWatcher>();
  #closed = false;

  constructor(root: string, onEvent: () => void) {
    this.#root = root;
    this.#onEvent = onEvent;
  }

  /** Watches exactly these directories, given relative to the root. */
  follow(directories: readonly string[]): void {
    if (this.#closed) return;
    const wanted = new Set(directories);
    for (const path of this.#watchers.keys()) if (!wanted.has(path)) this.#drop(path);
    for (const path of wanted) if (!this.#watchers.has(path)) this.#add(path);
  }

  close(): void {
    this.#closed = true;
    for (const path of [...this.#watchers.keys()]) this.#drop(path);
  }

  #add(path: string): void {
    try {
      const watcher = watch(join(this.#root, path), this.#onEvent);
      watcher.on('error', () => this.#drop(path));
      this.#watchers.set(path, watcher);
    } catch {
      // Gone again, or no watches left: the periodic look covers it.
    }
  }

  #drop(path: string): void {
    this.#watchers.get(path)?.close();
    this.#watchers.delete(path);
  }
}
