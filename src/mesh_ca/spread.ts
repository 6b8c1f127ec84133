/** Whether everybody has been given the roots that are trusted now. */

/** Names what has not got them yet: `ConfigMap foo/mesh-ca-root-cert`. */
export type Missing = () => readonly string[];

export interface Spread {
  readonly missing: Missing;
  add(part: Missing): void;
}

/** Nothing is said to be spread before the first part is there. */
export function createSpread(): Spread {
  const parts: Missing[] = [];
  return {
    missing: () => (parts.length === 0 ? ['what is published'] : parts.flatMap((part) => part())),
    add: (part) => void parts.push(part),
  };
}
