import { isRecord, type JsonObject } from './shape.ts';

/** One operation of a JSON patch (RFC 6902); `path` is a JSON pointer (RFC 6901). */
export type PatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

export type JsonPatch = readonly PatchOperation[];

/**
 * The operations that turn one JSON value into another; none when they are equal. Fields that are undefined count as absent. Parts
 * that both share are not looked into, so that they cost nothing, however large or deep they are.
 */
export function diff(from: unknown, to: unknown, path = ''): PatchOperation[] {
  if (Object.is(from, to)) return [];
  if (isRecord(from) && isRecord(to)) return diffObjects(from, to, path);
  if (Array.isArray(from) && Array.isArray(to)) return diffArrays(from, to, path);
  return [{ op: 'replace', path, value: to }];
}

function diffObjects(from: JsonObject, to: JsonObject, path: string): PatchOperation[] {
  const operations: PatchOperation[] = [];
  for (const key of Object.keys(from)) {
    if (from[key] !== undefined && !has(to, key)) operations.push({ op: 'remove', path: pointer(path, key) });
  }
  for (const key of Object.keys(to)) {
    if (!has(to, key) || (has(from, key) && Object.is(from[key], to[key]))) continue;
    if (has(from, key)) operations.push(...diff(from[key], to[key], pointer(path, key)));
    else operations.push({ op: 'add', path: pointer(path, key), value: to[key] });
  }
  return operations;
}

/** What is alike at both ends stays; of the middle, items change in place as far as they go, the rest is removed or added. */
function diffArrays(from: readonly unknown[], to: readonly unknown[], path: string): PatchOperation[] {
  const shorter = Math.min(from.length, to.length);
  let start = 0;
  while (start < shorter && equal(from[start], to[start])) start++;
  let end = 0;
  while (end < shorter - start && equal(from[from.length - 1 - end], to[to.length - 1 - end])) end++;
  const common = shorter - start - end;
  const operations: PatchOperation[] = [];
  for (let index = start; index < start + common; index++) operations.push(...diff(from[index], to[index], pointer(path, index)));
  // Removing from the back keeps the indexes of what is still to be removed.
  for (let index = from.length - end - 1; index >= start + common; index--)
    operations.push({ op: 'remove', path: pointer(path, index) });
  for (let index = start + common; index < to.length - end; index++) {
    operations.push({ op: 'add', path: pointer(path, index), value: to[index] });
  }
  return operations;
}

/** Whether `diff` finds nothing, at the first difference and without a path to it. */
function equal(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => equal(item, other[index]));
  }
  if (!isRecord(one) || !isRecord(other)) return false;
  return (
    Object.keys(other).every((key) => other[key] === undefined || has(one, key)) &&
    Object.keys(one).every((key) => one[key] === undefined || (has(other, key) && equal(one[key], other[key])))
  );
}

function has(object: JsonObject, key: string): boolean {
  return Object.hasOwn(object, key) && object[key] !== undefined;
}

function pointer(path: string, key: string | number): string {
  return `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
