import type { Value } from './value.ts';

/** The attributes of one request. Absent ones are `undefined`; whoever asks for one may be recorded as depending on it. */
export interface AttributeBag {
  get(name: string): Value | undefined;
  /** One entry of a STRING_MAP attribute, so that what depends on one header does not depend on all. */
  entry(name: string, key: string): string | undefined;
  /** All names present, for logs and for requests that are passed on; recorded as nothing. */
  names(): Iterable<string>;
}

/** Which attributes there may be, and of what type: every attributemanifest joined with the standard vocabulary. */
export interface Vocabulary {
  typeOf(attribute: string): import('./value.ts').ValueType | undefined;
  names(): Iterable<string>;
}
