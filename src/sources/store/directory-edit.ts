import type { KubeObject } from '../../model/object.ts';
import { readChunk, splitDocuments } from '../../model/parse/document.ts';
import { isMapping } from '../../model/parse/object.ts';
import { printYaml } from '../../model/parse/yaml.ts';

/** Where in a file an object is: which piece, and which item of the List there. */
export interface Place {
  readonly chunk: number;
  readonly item: number | undefined;
}

export type Syntax = 'yaml' | 'json';

export function printObject(object: KubeObject, syntax: Syntax): string {
  return syntax === 'json' ? `${JSON.stringify(object, null, 2)}\n` : printYaml(object);
}

/**
 * The text of a file with one object replaced, or removed where there is no new one; `undefined` when nothing is left. Everything
 * outside the object's own document stays as it was, to the letter.
 */
export function editText(text: string, place: Place, object: KubeObject | undefined, syntax: Syntax): string | undefined {
  const chunks = splitDocuments(text).map((chunk) => chunk.text);
  const old = chunks[place.chunk] ?? '';
  const body = place.item === undefined ? object : editList(old, place.item, object);
  if (body !== undefined) chunks[place.chunk] = head(old) + printObject(body, syntax);
  else chunks.splice(place.chunk, 1);
  const edited = chunks.join('');
  return chunks.every((chunk) => isEmpty(chunk)) ? undefined : edited;
}

/** The separator and the comments before the first line of content, which a new document keeps. */
function head(chunk: string): string {
  const lines = chunk.match(/^(?:---[ \t]*(?:#.*)?\r?\n|[ \t]*(?:#.*)?\r?\n|%.*\r?\n)*/)?.[0] ?? '';
  return lines === '' && chunk.startsWith('---') ? '---\n' : lines;
}

function isEmpty(chunk: string): boolean {
  return /^(?:(?:---|\.\.\.)?[ \t]*(?:#.*)?(?:\r?\n|$))*$/.test(chunk);
}

function editList(chunk: string, item: number, object: KubeObject | undefined): KubeObject | undefined {
  const list = readChunk({ text: chunk, line: 1 }).documents[0]?.value;
  if (!isMapping(list) || !Array.isArray(list.items)) return undefined;
  const items: readonly unknown[] = object === undefined ? list.items.toSpliced(item, 1) : list.items.with(item, object);
  return items.length === 0 ? undefined : ({ ...list, items } as unknown as KubeObject);
}
