import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';

export interface FileWatch {
  /** Resolves at the first change of any of the files. */
  readonly changed: Promise<void>;
  stop(): void;
}

/**
 * Watches files through their folders, for editors replace a file, and projected volumes a link beside it (`..data`). A folder
 * that does not exist yet, or that cannot be watched, tells nothing: whoever waits must look again in a while too.
 */
export function watchFiles(files: readonly string[], parent: AbortSignal): FileWatch {
  const stopped = new AbortController();
  const signal = AbortSignal.any([parent, stopped.signal]);
  const names = new Set(files.map((file) => basename(file)));
  const concerns = (name: string | null): boolean => name === null || names.has(name) || name.startsWith('..');
  const changed = new Promise<void>((resolve) => {
    const listener = (_event: string, name: string | null): void => {
      if (concerns(name)) resolve();
    };
    for (const folder of new Set(files.map((file) => dirname(file)))) {
      try {
        watch(folder, { signal, persistent: false }, listener).on('error', () => {});
      } catch {
        // There is no such folder yet: reading again in a while finds it.
      }
    }
  });
  return { changed, stop: () => stopped.abort() };
}
