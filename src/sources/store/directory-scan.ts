import { type BigIntStats, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import type { Problem } from '../../lib/errors.ts';

/** A file that holds manifests. */
export interface FoundFile {
  /** Path of the content: the target, where the file is a link. */
  readonly path: string;
  /** Changes whenever the file's content may have changed. */
  readonly signature: string;
  readonly size: number;
  /** Milliseconds since the epoch of the last write to the file; who moves a finished file leaves it. */
  readonly modifiedAt: number;
  /** Milliseconds since the epoch, whole seconds: when the file was made, as far as the file system tells. */
  readonly createdAt: number;
}

export interface Tree {
  /** By path relative to the root, sorted. */
  readonly files: ReadonlyMap<string, FoundFile>;
  /** Every directory, for watching; the root's path is empty. */
  readonly directories: readonly string[];
  /** Directories (relative, with a slash behind) that could not be read: what is below them is unknown, not gone. */
  readonly unreadable: readonly string[];
  /** Left behind by writers that died; only who holds the lock may remove them. */
  readonly leftovers: readonly string[];
  readonly problems: readonly Problem[];
}

/** How the temporary files of atomic writes end. */
export const TEMPORARY_SUFFIX = '.mesh-tmp';

const MANIFEST = /\.(?:yaml|yml|json)$/i;

/** Walks a directory tree by stat alone. Names that begin with a dot are not looked at; links are followed to files inside the tree only. */
export function scanTree(root: string): Tree {
  const tree = {
    files: new Map<string, FoundFile>(),
    directories: [''],
    unreadable: [] as string[],
    leftovers: [] as string[],
    problems: [] as Problem[],
  };
  const realRoot = realpathSync(root);
  for (let next = 0; next < tree.directories.length; next++) scanDirectory(root, realRoot, tree.directories[next] ?? '', tree);
  tree.files = new Map([...tree.files].sort(([a], [b]) => (a < b ? -1 : 1)));
  return tree;
}

type GrowingTree = {
  [Part in keyof Tree]: Tree[Part] extends ReadonlyMap<infer K, infer V>
    ? Map<K, V>
    : Tree[Part] extends readonly (infer E)[]
      ? E[]
      : never;
};

function scanDirectory(root: string, realRoot: string, directory: string, tree: GrowingTree): void {
  const entries = attempt(join(root, directory), tree, () => readdirSync(join(root, directory), { withFileTypes: true }));
  if (entries === undefined) {
    tree.unreadable.push(directory === '' ? '' : `${directory}/`);
    return;
  }
  for (const entry of entries) {
    const path = directory === '' ? entry.name : `${directory}/${entry.name}`;
    if (entry.name.endsWith(TEMPORARY_SUFFIX)) tree.leftovers.push(path);
    else if (entry.name.startsWith('.')) continue;
    else if (entry.isDirectory()) tree.directories.push(path);
    else if (MANIFEST.test(entry.name)) addFile(root, realRoot, path, entry.isSymbolicLink(), tree);
    else if (entry.isSymbolicLink()) refuseLinkedDirectory(join(root, path), tree);
  }
}

function addFile(root: string, realRoot: string, path: string, isLink: boolean, tree: GrowingTree): void {
  const full = join(root, path);
  attempt(full, tree, () => {
    const target = isLink ? realpathSync(full) : full;
    const inside = relative(realRoot, target);
    if (isLink && (inside.startsWith(`..${sep}`) || inside === '..')) {
      tree.problems.push({ path: '', file: full, message: `a link to ${target}, outside the store; it is not followed` });
      return;
    }
    if (isLink && isScanned(inside)) return;
    const stat = lstatSync(target, { bigint: true });
    if (stat.isFile()) tree.files.set(path, found(target, stat));
    else tree.problems.push({ path: '', file: full, message: 'not a regular file; it is not read' });
  });
}

/** Whether the target of a link is found without the link, so that its objects would be there twice. */
function isScanned(inside: string): boolean {
  return MANIFEST.test(inside) && !inside.split(sep).some((part) => part.startsWith('.'));
}

function refuseLinkedDirectory(full: string, tree: GrowingTree): void {
  attempt(full, tree, () => {
    if (!statSync(full).isDirectory()) return;
    tree.problems.push({ path: '', file: full, message: 'a link to a directory; it is not followed' });
  });
}

function found(path: string, stat: BigIntStats): FoundFile {
  const modified = Number(stat.mtimeMs);
  const born = Number(stat.birthtimeMs);
  return {
    path,
    signature: `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`,
    size: Number(stat.size),
    modifiedAt: modified,
    createdAt: Math.floor((born > 0 ? Math.min(born, modified) : modified) / 1000) * 1000,
  };
}

/** Runs one access; what disappears meanwhile is not there, any other failure is a problem of the path. */
function attempt<T>(path: string, tree: GrowingTree, run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    tree.problems.push({ path: '', file: path, message: `cannot be read: ${code ?? message}` });
    return undefined;
  }
}
