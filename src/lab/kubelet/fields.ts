import type { Problem } from '../../lib/errors.ts';

/**
 * Reads the fields of a manifest's object by type. A field of the wrong type is noted as a problem with its path and read
 * as absent, so that one pass finds every problem.
 */
export class Fields {
  readonly path: string;
  readonly #object: Readonly<Record<string, unknown>>;
  readonly #problems: Problem[];

  constructor(value: unknown, path: string, problems: Problem[]) {
    this.path = path;
    this.#problems = problems;
    this.#object = isRecord(value) ? value : {};
    if (value !== undefined && value !== null && !isRecord(value)) this.problem('', 'is not an object');
  }

  string(name: string): string | undefined {
    return this.#read(name, 'a string', (value) => typeof value === 'string');
  }

  requiredString(name: string): string {
    const value = this.string(name);
    if (value === undefined && !this.has(name)) this.problem(name, 'is missing');
    return value ?? '';
  }

  integer(name: string): number | undefined {
    return this.#read(name, 'an integer', (value): value is number => Number.isSafeInteger(value));
  }

  boolean(name: string): boolean | undefined {
    return this.#read(name, 'true or false', (value) => typeof value === 'boolean');
  }

  /** A port given by number or by name. */
  port(name: string): number | string | undefined {
    return this.#read(
      name,
      'a port number or a port name',
      (value): value is number | string => typeof value === 'string' || (Number.isInteger(value) && inPortRange(value)),
    );
  }

  strings(name: string): readonly string[] | undefined {
    return this.#read(
      name,
      'a list of strings',
      (value): value is string[] => Array.isArray(value) && value.every((entry) => typeof entry === 'string'),
    );
  }

  stringMap(name: string): Readonly<Record<string, string>> {
    const value = this.#read(
      name,
      'a map of strings',
      (found): found is Record<string, string> =>
        isRecord(found) && Object.values(found).every((entry) => typeof entry === 'string'),
    );
    return value ?? {};
  }

  object(name: string): Fields {
    return new Fields(this.#object[name], this.#at(name), this.#problems);
  }

  /** The field if it is there, even when empty: `emptyDir: {}` says something, its absence too. */
  optionalObject(name: string): Fields | undefined {
    return this.has(name) ? this.object(name) : undefined;
  }

  list(name: string): readonly Fields[] {
    const value = this.#read(name, 'a list', (found): found is unknown[] => Array.isArray(found)) ?? [];
    return value.map((entry, index) => new Fields(entry, `${this.#at(name)}[${index}]`, this.#problems));
  }

  has(name: string): boolean {
    return this.#object[name] !== undefined && this.#object[name] !== null;
  }

  problem(name: string, message: string): void {
    this.#problems.push({ path: name === '' ? this.path : this.#at(name), message });
  }

  #read<T>(name: string, expected: string, check: (value: unknown) => value is T): T | undefined;
  #read(name: string, expected: string, check: (value: unknown) => boolean): undefined;
  #read<T>(name: string, expected: string, check: (value: unknown) => value is T): T | undefined {
    const value = this.#object[name];
    if (value === undefined || value === null) return undefined;
    if (check(value)) return value;
    this.problem(name, `is not ${expected}`);
    return undefined;
  }

  #at(name: string): string {
    return this.path === '' ? name : `${this.path}.${name}`;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function inPortRange(value: unknown): boolean {
  return typeof value === 'number' && value >= 1 && value <= 65535;
}
