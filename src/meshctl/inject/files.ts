import { readdir, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Host } from '../../io/host.ts';
import { MeshError } from '../../lib/errors.ts';

export interface SourceText {
  /** As the user named it, for messages. */
  readonly name: string;
  readonly text: string;
}

/** Reads files, the YAML and JSON files of directories (sorted), and `-` for standard input. Throws MeshErrors that name the file. */
export async function readSources(names: readonly string[], host: Pick<Host, 'cwd' | 'stdin'>): Promise<readonly SourceText[]> {
  const sources: SourceText[] = [];
  for (const name of names) {
    if (name === '-') sources.push({ name: '(standard input)', text: await text(host.stdin) });
    else for (const file of await filesOf(name, host.cwd)) sources.push(await readSource(file, host.cwd));
  }
  return sources;
}

export async function readSource(name: string, cwd: string): Promise<SourceText> {
  return { name, text: await readFile(resolve(cwd, name), 'utf8').catch(unreadable(name)) };
}

async function filesOf(name: string, cwd: string): Promise<readonly string[]> {
  if (/^https?:\/\//.test(name))
    throw new MeshError('usage', `-f takes files, directories and -, no addresses: curl -fsSL ${name} | meshctl inject -f -`);
  const path = resolve(cwd, name);
  const found = await stat(path).catch(unreadable(name));
  if (!found.isDirectory()) return [name];
  const files = (await readdir(path).catch(unreadable(name))).filter((file) => /\.(ya?ml|json)$/.test(file));
  if (files.length === 0) throw new MeshError('not_found', `${name} has no YAML or JSON file`);
  return files.sort().map((file) => join(name, file));
}

function unreadable(name: string): (error: unknown) => never {
  return (error) => {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    const reason = missing ? 'there is no such file or directory' : MeshError.from(error).message;
    throw new MeshError(missing ? 'not_found' : 'unavailable', `cannot read ${name}: ${reason}`, error);
  };
}
