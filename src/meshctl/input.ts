import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import type { Host } from '../io/host.ts';
import { formatProblem, MeshError, type Parsed, type Problem } from '../lib/errors.ts';
import { describeObject, type KubeObject } from '../model/object.ts';
import { type Manifest, readManifests } from '../model/parse/manifests.ts';
import { allKinds } from '../rules/config/kinds.ts';

export interface InputOptions {
  /** Files, directories, or `-` for standard input. */
  readonly filenames: readonly string[];
  /** The namespace asked for; empty: none. */
  readonly namespace: string;
  readonly validate: (object: KubeObject) => readonly Problem[];
}

/** More than this is no manifest. */
const MAX_INPUT_BYTES = 64 * 1024 * 1024;

/**
 * Reads all manifests that a command is given, or tells everything wrong with any of them, so that a command does nothing unless it
 * can do all. Throws MeshError `usage` when it was given none, `not_found` and `invalid` for files that cannot be read.
 */
export async function readInput({ filenames, ...options }: InputOptions, host: Host): Promise<Parsed<readonly Manifest[]>> {
  if (filenames.length === 0) throw new MeshError('usage', 'no manifests given; name a file, a directory or - by -f');
  const kinds = allKinds(host.names);
  const manifests: Manifest[] = [];
  const problems: Problem[] = [];
  for (const source of await findSources(filenames, host)) {
    const read = readManifests(await source.read(), { ...options, kinds, file: source.name });
    manifests.push(...read.manifests);
    problems.push(...read.problems.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0)));
  }
  problems.push(...findRepeated(manifests));
  if (problems.length > 0) return { ok: false, problems };
  if (manifests.length === 0) throw new MeshError('invalid', `no objects in ${filenames.join(', ')}`);
  return { ok: true, value: manifests };
}

/** Tells what is wrong with manifests, a line each; gives the exit code. */
export function refuseInput(problems: readonly Problem[], host: Host): number {
  for (const problem of problems) host.stderr.write(`error: ${formatProblem(problem)}\n`);
  host.stderr.write('error: nothing was changed\n');
  return 1;
}

/** The texts of files, directories and `-`. Throws MeshError `not_found` and `invalid` for what cannot be read. */
export async function readSources(
  filenames: readonly string[],
  host: Host,
): Promise<readonly { readonly name: string; readonly text: string }[]> {
  const texts: { readonly name: string; readonly text: string }[] = [];
  for (const { name, read } of await findSources(filenames, host)) texts.push({ name, text: await read() });
  return texts;
}

interface Source {
  /** As problems name it. */
  readonly name: string;
  readonly read: () => Promise<string>;
}

async function findSources(filenames: readonly string[], host: Host): Promise<readonly Source[]> {
  const sources: Source[] = [];
  for (const name of filenames) {
    if (name === '-') {
      sources.push({ name: 'standard input', read: () => readAll(host.stdin, 'standard input') });
      continue;
    }
    const files = await filesOf(name, host.cwd);
    sources.push(...files.map((file) => ({ name: file, read: () => readFileText(file, host.cwd) })));
  }
  return sources;
}

/** A directory stands for the manifests right in it, as for kubectl. */
async function filesOf(name: string, cwd: string): Promise<readonly string[]> {
  try {
    const path = resolve(cwd, name);
    if (!(await stat(path)).isDirectory()) return [name];
    const files = (await readdir(path)).filter((file) => /^[^.].*\.(?:yaml|yml|json)$/.test(file)).sort();
    if (files.length === 0) throw new MeshError('invalid', `no .yaml, .yml or .json files in the directory ${name}`);
    return files.map((file) => join(name, file));
  } catch (error) {
    throw unreadable(name, error);
  }
}

async function readFileText(file: string, cwd: string): Promise<string> {
  try {
    return await readAll(createReadStream(resolve(cwd, file)), file);
  } catch (error) {
    throw unreadable(file, error);
  }
}

async function readAll(stream: Readable, name: string): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > MAX_INPUT_BYTES) throw new MeshError('invalid', `${name} is larger than ${MAX_INPUT_BYTES / 1024 / 1024} MiB`);
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function unreadable(name: string, error: unknown): MeshError {
  if (error instanceof MeshError) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return new MeshError('not_found', `${name} does not exist`, error);
  return new MeshError('invalid', `${name} cannot be read: ${code ?? MeshError.from(error).message}`, error);
}

/** Of two manifests of one object nobody could say which one is meant. */
function findRepeated(manifests: readonly Manifest[]): readonly Problem[] {
  const first = new Map<string, Manifest>();
  const problems: Problem[] = [];
  for (const manifest of manifests) {
    const key = `${manifest.kind.apiVersion} ${describeObject(manifest.object)}`;
    const earlier = first.get(key);
    if (earlier === undefined) first.set(key, manifest);
    else {
      const message = `${describeObject(manifest.object)} is given twice; first at ${earlier.file}:${earlier.line}`;
      problems.push({ path: '', file: manifest.file, line: manifest.line, message });
    }
  }
  return problems;
}
