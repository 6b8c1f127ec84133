/** Reads fields of a configuration file, collecting every problem with its path. */
import type { Problem } from '../../lib/errors.ts';

type Fields = Readonly<Record<string, unknown>>;

function isMapping(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One mapping of the file; absent mappings read as empty ones. An empty text or null counts as absent, as it does for kubectl. */
export class ConfigReader {
  readonly #fields: Fields;
  readonly #path: string;
  readonly problems: Problem[];

  constructor(value: unknown, path: string, problems: Problem[]) {
    this.#path = path;
    this.problems = problems;
    if (!isMapping(value) && value !== undefined && value !== null) this.#report('', 'must be a mapping');
    this.#fields = isMapping(value) ? value : {};
  }

  /** Whether the field says anything. */
  has(name: string): boolean {
    const value = this.#fields[name];
    return value !== undefined && value !== null && value !== '';
  }

  text(name: string): string | undefined {
    const value = this.#fields[name];
    if (!this.has(name)) return undefined;
    if (typeof value === 'string') return value;
    this.#report(name, 'must be a text');
    return undefined;
  }

  flag(name: string): boolean {
    const value = this.#fields[name];
    if (typeof value === 'boolean' || !this.has(name)) return value === true;
    this.#report(name, 'must be true or false');
    return false;
  }

  texts(name: string): readonly string[] {
    return this.#list(name).flatMap((value, index) => {
      if (typeof value === 'string') return [value];
      this.#report(`${name}[${index}]`, 'must be a text');
      return [];
    });
  }

  mapping(name: string): ConfigReader {
    return new ConfigReader(this.#fields[name], this.#at(name), this.problems);
  }

  mappings(name: string): readonly ConfigReader[] {
    return this.#list(name).map((value, index) => new ConfigReader(value, this.#at(`${name}[${index}]`), this.problems));
  }

  /** The fields whose names are not known beforehand, each a list of texts. */
  textLists(): Readonly<Record<string, readonly string[]>> {
    return Object.fromEntries(Object.keys(this.#fields).map((name) => [name, this.texts(name)]));
  }

  report(name: string, message: string): void {
    this.#report(name, message);
  }

  #list(name: string): readonly unknown[] {
    const value = this.#fields[name];
    if (Array.isArray(value)) return value;
    if (this.has(name)) this.#report(name, 'must be a list');
    return [];
  }

  #at(name: string): string {
    return [this.#path, name].filter((part) => part !== '').join('.');
  }

  #report(name: string, message: string): void {
    this.problems.push({ path: this.#at(name), message });
  }
}
