/** Structural sharing: a value that did not change keeps its identity, so that what is derived from it need not be redone. */

/** Whether two lists hold the same objects in the same order. */
export function sameElements<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((element, index) => element === b[index]);
}

/** The previous list if it holds the same objects, else the next one. */
export function keepList<T>(previous: readonly T[] | undefined, next: readonly T[]): readonly T[] {
  return previous !== undefined && sameElements(previous, next) ? previous : next;
}

/** The previous map if it has the same keys and the same objects, else the next one. */
export function keepMap<V>(previous: ReadonlyMap<string, V> | undefined, next: ReadonlyMap<string, V>): ReadonlyMap<string, V> {
  if (previous === undefined || previous.size !== next.size) return next;
  for (const [key, value] of next) if (previous.get(key) !== value || !previous.has(key)) return next;
  return previous;
}

/** Groups by key, keeping the order within a group and the identity of groups that did not change. */
export function groupKept<T>(
  items: readonly T[],
  keyOf: (item: T) => string,
  previous: ReadonlyMap<string, readonly T[]> | undefined,
): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  const kept = new Map<string, readonly T[]>();
  for (const [key, group] of groups) kept.set(key, keepList(previous?.get(key), group));
  return keepMap(previous, kept);
}

/** Order of texts by code unit: the same on every machine. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
