/** What a client asks for of a type. */
import type { NameSet } from './name-set.ts';

export type Interest =
  | { readonly type: 'all' }
  | { readonly type: 'names'; readonly names: NameSet }
  /** Every resource named `<one of the names>/...`: the virtual hosts of these route tables. */
  | { readonly type: 'collections'; readonly names: NameSet };

export const ALL: Interest = { type: 'all' };

/** Short, and the same for equal interests. */
export function keyOf(interest: Interest): string {
  switch (interest.type) {
    case 'all':
      return '*';
    case 'names':
      return String(interest.names.id);
    case 'collections':
      return `${interest.names.id}/`;
  }
}

/** Whether a resource is asked for. */
export function covers(interest: Interest, name: string): boolean {
  switch (interest.type) {
    case 'all':
      return true;
    case 'names':
      return interest.names.names.has(name);
    case 'collections':
      return interest.names.names.has(collectionOf(name));
  }
}

/** `<collection>/<rest>`; empty for a name without one. */
export function collectionOf(name: string): string {
  return name.slice(0, Math.max(name.lastIndexOf('/'), 0));
}
