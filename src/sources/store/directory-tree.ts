import { join } from 'node:path';
import { formatProblem, MeshError, type Problem } from '../../lib/errors.ts';
import type { KindedObject } from '../../model/parse/object.ts';
import { type FileContent, type FileObject, type FileParser, MAX_FILE_BYTES, parseFile, readText } from './directory-file.ts';
import { type FoundFile, scanTree, type Tree } from './directory-scan.ts';

/** A file as it is in force: what was read last and, where that is broken, what was good before. */
interface TrackedFile {
  readonly path: string;
  readonly found: FoundFile;
  /** What the objects come from. */
  readonly inForce: FileContent;
  /** What is wrong with the file as it is now. */
  readonly problems: readonly Problem[];
  /** Whether the file may have changed since, unnoticed, within the resolution of the file system's clock. */
  readonly settled: boolean;
  /** Milliseconds since the epoch: when the file was first found gone while it might still turn up elsewhere. */
  readonly missingSince?: number;
}

/** Where an object is defined. */
export interface Definition {
  readonly object: FileObject;
  /** Relative path of the file. */
  readonly file: string;
  /** Path of the file's content. */
  readonly path: string;
  readonly createdAt: number;
  /** Set when the file as it is now cannot be edited: why. */
  readonly broken: string | undefined;
}

/** A file younger than this may still be being written, and may change again without a new time stamp. */
export const SETTLE_MS = 20;

/** How long a file that is gone stays in force while others are still being written: it may have been moved. */
const MOVE_MS = 10 * SETTLE_MS;

const NOTHING: FileContent = { signature: '', objects: [], problems: [], complete: true, chunks: new Map() };

/** The manifests of a directory tree, in memory; a refresh looks at every file's stat and reads only what changed. */
export class DirectoryTree {
  readonly #root: string;
  readonly #parser: FileParser;
  readonly #now: () => Date;
  #files = new Map<string, TrackedFile>();
  #definitions = new Map<string, Definition>();
  #problems: readonly Problem[] = [];
  #tree: Tree | undefined;

  constructor(root: string, parser: FileParser, now: () => Date) {
    this.#root = root;
    this.#parser = parser;
    this.#now = now;
  }

  /**
   * Looks at the tree again. With `patient`, files that changed within the last moments are left for the next look, so that a
   * file is not read while it is being written. Returns whether there is something left to look at.
   */
  refresh({ patient }: { readonly patient: boolean }): { readonly unsettled: boolean } {
    const tree = this.#scan();
    const files = new Map<string, TrackedFile>();
    let isArriving = false;
    for (const [path, found] of tree.files) {
      const tracked = this.#track(path, found, this.#files.get(path), patient);
      if (tracked !== undefined) files.set(path, tracked);
      else isArriving = true;
    }
    for (const [path, tracked] of this.#files) {
      if (tree.files.has(path)) continue;
      if (tree.unreadable.some((directory) => path.startsWith(directory))) files.set(path, tracked);
      else if (isArriving) this.#keepMissing(path, tracked, files);
    }
    this.#tree = tree;
    this.#files = new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
    this.#define(tree);
    return { unsettled: isArriving || [...tree.files].some(([path, found]) => !this.#isCurrent(files.get(path), found)) };
  }

  /** A file that was moved is gone from its old place before its new one is read; its objects never are. */
  #keepMissing(path: string, tracked: TrackedFile, files: Map<string, TrackedFile>): void {
    const now = this.#now().getTime();
    const { missingSince = now } = tracked;
    if (now - missingSince < MOVE_MS) files.set(path, { ...tracked, missingSince, settled: false });
  }

  /** The objects in force, by key. */
  objects(): Map<string, KindedObject> {
    return new Map([...this.#definitions].map(([key, { object }]) => [key, object]));
  }

  find(key: string): Definition | undefined {
    return this.#definitions.get(key);
  }

  /** Whether a file, by its relative path, defines a Secret. */
  holdsSecrets(file: string): boolean {
    const objects = this.#files.get(file)?.inForce.objects ?? [];
    return objects.some(({ kind }) => kind.kind === 'Secret' && kind.apiVersion === 'v1');
  }

  problems(): readonly Problem[] {
    return this.#problems;
  }

  directories(): readonly string[] {
    return this.#tree?.directories ?? [''];
  }

  leftovers(): readonly string[] {
    return this.#tree?.leftovers ?? [];
  }

  #scan(): Tree {
    try {
      return scanTree(this.#root);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const problem = { path: '', file: this.#root, message: `cannot be read: ${code ?? message}` };
      if (this.#tree === undefined) throw new MeshError('unavailable', formatProblem(problem), error);
      return { files: new Map(), directories: [''], unreadable: [''], leftovers: [], problems: [problem] };
    }
  }

  #isCurrent(tracked: TrackedFile | undefined, found: FoundFile): boolean {
    return tracked?.found.signature === found.signature && tracked.settled;
  }

  #track(path: string, found: FoundFile, before: TrackedFile | undefined, patient: boolean): TrackedFile | undefined {
    if (this.#isCurrent(before, found)) return before;
    const age = this.#now().getTime() - found.modifiedAt;
    const settled = age > SETTLE_MS || age < 0;
    if (patient && !settled) return before;
    return this.#read(path, found, before, settled);
  }

  #read(path: string, found: FoundFile, before: TrackedFile | undefined, settled: boolean): TrackedFile {
    const name = join(this.#root, path);
    const last = before?.inForce ?? NOTHING;
    const keep = (message: string): TrackedFile => ({
      path,
      found,
      settled,
      inForce: last,
      problems: [{ path: '', file: name, message }],
    });
    if (found.size > MAX_FILE_BYTES) return keep(`larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB; it is not read`);
    if (found.size === 0 && last.objects.length > 0) {
      return keep('empty, as if it were being written; its last content stays in force (remove the file to remove its objects)');
    }
    try {
      const content = parseFile(readText(found.path), found, name, last, this.#parser);
      const isWorse = !content.complete && last.complete && last.objects.length > 0;
      return { path, found, settled, inForce: isWorse ? last : content, problems: content.problems };
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      return keep(`cannot be read: ${code ?? message}`);
    }
  }

  /** Of several definitions of one object the first file's, in the order of names, is in force. */
  #define(tree: Tree): void {
    const definitions = new Map<string, Definition>();
    const problems: Problem[] = [...tree.problems];
    for (const file of this.#files.values()) {
      problems.push(...file.problems);
      for (const object of file.inForce.objects) {
        const winner = definitions.get(object.key);
        if (winner === undefined) definitions.set(object.key, this.#definition(file, object));
        else problems.push(this.#duplicate(file, object, winner));
      }
    }
    this.#definitions = definitions;
    this.#problems = problems;
  }

  #definition(file: TrackedFile, object: FileObject): Definition {
    const isBroken = file.inForce.signature !== file.found.signature || !file.inForce.complete;
    const [first] = file.problems;
    const broken = isBroken && first !== undefined ? formatProblem(first) : undefined;
    return { object, file: file.path, path: file.found.path, createdAt: file.found.createdAt, broken };
  }

  #duplicate(file: TrackedFile, object: FileObject, winner: Definition): Problem {
    const { name, namespace } = object.object.metadata;
    const title = `${object.object.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
    const message = `${title} is already defined in ${join(this.#root, winner.file)}:${winner.object.line}, which is in force`;
    return { path: '', file: join(this.#root, file.path), line: object.line, message };
  }
}
