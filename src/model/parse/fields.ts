import { type Duration, parseDuration } from '../../lib/duration.ts';
import type { Problem } from '../../lib/errors.ts';
import { familyOf } from '../address.ts';
import { unknownField } from './schema-problems.ts';

/**
 * Reads the fields of an untyped object at the border, noting every problem with its path instead of stopping at the first.
 * A getter answers with a value of the right type in any case, so that reading goes on.
 */
export class Fields {
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #path: string;
  readonly #problems: Problem[];

  constructor(value: unknown, path: string, problems: Problem[]) {
    this.#path = path;
    this.#problems = problems;
    this.#value = isRecord(value) ? value : {};
    if (!isRecord(value)) this.#note(path, `expected an object, got ${describe(value)}`);
  }

  #note(path: string, message: string): void {
    this.#problems.push({ path, message });
  }

  #at(field: string): string {
    return this.#path === '' ? field : `${this.#path}.${field}`;
  }

  /** Notes a problem with a field, found by the caller. */
  refuse(field: string, message: string): void {
    this.#note(this.#at(field), message);
  }

  /** Notes that what a field names is not there, as the caller has found; it may come still. */
  miss(field: string, message: string): void {
    this.#problems.push({ path: this.#at(field), message, dangling: true });
  }

  /** Notes every field that is none of these, with the one it may be meant for. */
  noOthers(known: readonly string[]): void {
    for (const field of Object.keys(this.#value)) {
      if (!known.includes(field)) this.refuse(field, unknownField(field, known));
    }
  }

  /** The fields of the object that `field` is, each an object itself; absent reads as empty. */
  entries(field: string): readonly (readonly [name: string, fields: Fields])[] {
    const nested = this.object(field);
    return Object.keys(nested.#value).map((name) => [name, nested.object(name)]);
  }

  has(field: string): boolean {
    return this.#value[field] !== undefined && this.#value[field] !== null;
  }

  /** A nested object; absent reads as empty. */
  object(field: string): Fields {
    return new Fields(this.#value[field] ?? {}, this.#at(field), this.#problems);
  }

  /** An object whose fields are for somebody else to read; absent reads as empty. */
  freeForm(field: string): Readonly<Record<string, unknown>> {
    return this.object(field).#value;
  }

  /** The members of a list of objects; absent reads as empty. */
  objects(field: string): readonly Fields[] {
    return this.#list(field).map((item, index) => new Fields(item, `${this.#at(field)}[${index}]`, this.#problems));
  }

  /** A list of texts; absent reads as empty. */
  texts(field: string): readonly string[] {
    const texts: string[] = [];
    for (const [index, item] of this.#list(field).entries()) {
      if (typeof item === 'string') texts.push(item);
      else this.#note(`${this.#at(field)}[${index}]`, `expected a text, got ${describe(item)}`);
    }
    return texts;
  }

  #list(field: string): readonly unknown[] {
    const value = this.#value[field] ?? [];
    if (Array.isArray(value)) return value;
    this.#note(this.#at(field), `expected a list, got ${describe(value)}`);
    return [];
  }

  /** A list of numbers; absent reads as empty. */
  numbers(field: string): readonly number[] {
    const numbers: number[] = [];
    for (const [index, item] of this.#list(field).entries()) {
      if (typeof item === 'number' && Number.isFinite(item)) numbers.push(item);
      else this.#note(`${this.#at(field)}[${index}]`, `expected a number, got ${describe(item)}`);
    }
    return numbers;
  }

  text(field: string): string | undefined {
    const value = this.#value[field] ?? undefined;
    if (value === undefined || typeof value === 'string') return value;
    this.#note(this.#at(field), `expected a text, got ${describe(value)}`);
    return undefined;
  }

  /** A text that must be there and not be empty. */
  requiredText(field: string): string {
    const value = this.text(field);
    if (value !== undefined && value !== '') return value;
    if (!this.has(field) || value === '') this.#note(this.#at(field), 'is required');
    return '';
  }

  /** A required text that a check finds nothing wrong with. */
  checkedText(field: string, check: (value: string) => string | undefined): string {
    const value = this.requiredText(field);
    const message = value === '' ? undefined : check(value);
    if (message !== undefined) this.refuse(field, message);
    return value;
  }

  /** One of some texts. */
  oneOf<T extends string>(field: string, choices: readonly T[]): T | undefined {
    const value = this.text(field);
    const chosen = choices.find((choice) => choice === value);
    if (value !== undefined && chosen === undefined)
      this.refuse(field, `${JSON.stringify(value)} is none of ${choices.join(', ')}`);
    return chosen;
  }

  /** A span of time as Go writes it (`1.5s`), not below zero. */
  duration(field: string): Duration | undefined {
    const text = this.text(field);
    if (text === undefined) return undefined;
    const parsed = parseDuration(text);
    if (parsed.ok && parsed.value >= 0) return parsed.value;
    this.refuse(field, parsed.ok ? `"${text}" is below zero` : (parsed.problems[0]?.message ?? ''));
    return undefined;
  }

  /** A number, with a fraction or without. */
  number(field: string): number | undefined {
    const value = this.#value[field] ?? undefined;
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value;
    this.#note(this.#at(field), `expected a number, got ${describe(value)}`);
    return undefined;
  }

  boolean(field: string): boolean | undefined {
    const value = this.#value[field] ?? undefined;
    if (value === undefined || typeof value === 'boolean') return value;
    this.#note(this.#at(field), `expected true or false, got ${describe(value)}`);
    return undefined;
  }

  /** Those of a list of texts that are IP addresses; the others are noted as problems of the field. */
  addresses(field: string, texts: readonly string[]): readonly string[] {
    return texts.filter((text) => {
      const valid = familyOf(text) !== undefined;
      if (!valid) this.refuse(field, `${describe(text)} is not an IP address`);
      return valid;
    });
  }

  /** A port number, 1 to 65535. */
  port(field: string): number | undefined {
    const value = this.#value[field] ?? undefined;
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65535) return value;
    this.#note(this.#at(field), `expected a port from 1 to 65535, got ${describe(value)}`);
    return undefined;
  }

  /** A whole number within bounds. */
  wholeNumber(field: string, min: number, max: number): number | undefined {
    const value = this.#value[field] ?? undefined;
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
    this.#note(this.#at(field), `expected a whole number from ${min} to ${max}, got ${describe(value)}`);
    return undefined;
  }

  /** A port number or the name of one. */
  portOrName(field: string): number | string | undefined {
    const value = this.#value[field];
    return typeof value === 'string' && value !== '' ? value : this.port(field);
  }

  /** A map of texts, as labels and annotations are; absent reads as empty. */
  textMap(field: string): Readonly<Record<string, string>> {
    const value = this.#value[field] ?? {};
    if (!isRecord(value)) {
      this.#note(this.#at(field), `expected an object, got ${describe(value)}`);
      return {};
    }
    const texts: Record<string, string> = {};
    for (const [key, item] of Object.entries(value)) {
      if (typeof item === 'string') texts[key] = item;
      else this.#note(`${this.#at(field)}.${key}`, `expected a text, got ${describe(item)} (put it in quotes)`);
    }
    return texts;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  return JSON.stringify(value) ?? typeof value;
}
