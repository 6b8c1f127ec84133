/**
 * Reads the words of a command line by pflag's rules: `--flag value`, `--flag=value`, `--bool`, `--bool=false`, `-n value`,
 * `-n=value`, `-nvalue`, grouped short bools, flags and arguments in any order, `--` ends the flags. oclif's own parser refuses
 * `--bool=true` and a repeated flag, and puts repeated arguments out of order, so it never sees the words.
 */
import type { Problem } from '../lib/errors.ts';
import { nearest } from '../lib/nearest.ts';
import type { FlagSpec, FlagTable } from './table.ts';

/** One flag as given: the table's name of it (aliases resolved) and the text of its value (`true` for a bare bool). */
export interface GivenFlag {
  readonly name: string;
  readonly text: string;
}

export interface Words {
  readonly flags: readonly GivenFlag[];
  readonly args: readonly string[];
  /** `--help` or `-h` is among the flags. */
  readonly help: boolean;
  readonly problems: readonly Problem[];
}

export function readWords(table: FlagTable, argv: readonly string[]): Words {
  const reader = new WordReader(table, argv);
  reader.readAll();
  return reader;
}

class WordReader implements Words {
  readonly flags: GivenFlag[] = [];
  readonly args: string[] = [];
  readonly problems: Problem[] = [];
  help = false;
  readonly #byLong: ReadonlyMap<string, readonly [string, FlagSpec]>;
  readonly #byShort: ReadonlyMap<string, readonly [string, FlagSpec]>;
  readonly #argv: readonly string[];
  #next = 0;

  constructor(table: FlagTable, argv: readonly string[]) {
    const entries = Object.entries(table);
    this.#byLong = new Map(
      entries.flatMap(([name, spec]) => [name, ...(spec.aliases ?? [])].map((word) => [word, [name, spec]] as const)),
    );
    this.#byShort = new Map(
      entries.flatMap(([name, spec]) => (spec.char === undefined ? [] : [[spec.char, [name, spec]] as const])),
    );
    this.#argv = argv;
  }

  readAll(): void {
    for (let word = this.#take(); word !== undefined; word = this.#take()) {
      if (word === '--') {
        this.args.push(...this.#argv.slice(this.#next));
        return;
      }
      if (word.startsWith('--')) this.#long(word.slice(2));
      else if (word.startsWith('-') && word !== '-') this.#short(word.slice(1));
      else this.args.push(word);
    }
  }

  #take(): string | undefined {
    return this.#argv[this.#next++];
  }

  #long(body: string): void {
    const equals = body.indexOf('=');
    const word = equals === -1 ? body : body.slice(0, equals);
    const found = this.#byLong.get(word);
    if (found === undefined) {
      if (word === 'help') this.help = true;
      else this.problems.push({ path: `--${word}`, message: `there is no such flag${this.#suggestion(word)}` });
      return;
    }
    const [name, spec] = found;
    if (equals !== -1) this.flags.push({ name, text: body.slice(equals + 1) });
    else if (spec.type === 'bool') this.flags.push({ name, text: 'true' });
    else this.#separateValue(name, `--${word}`);
  }

  #short(body: string): void {
    for (let i = 0; i < body.length; i++) {
      const char = body[i] ?? '';
      const rest = body.slice(i + 1);
      const found = this.#byShort.get(char);
      if (found === undefined) {
        if (char === 'h') this.help = true;
        else this.problems.push({ path: `-${char}`, message: `there is no such flag${body.length > 1 ? ` (in -${body})` : ''}` });
        return;
      }
      const [name, spec] = found;
      if (rest.startsWith('=')) this.flags.push({ name, text: rest.slice(1) });
      else if (spec.type === 'bool') this.flags.push({ name, text: 'true' });
      else if (rest !== '') this.flags.push({ name, text: rest });
      else this.#separateValue(name, `-${char}`);
      if (rest.startsWith('=') || spec.type !== 'bool') return;
    }
  }

  /** A word that is itself a flag of the table is not taken for the value: the value was forgotten, or needs `=`. */
  #separateValue(name: string, shown: string): void {
    const word = this.#argv[this.#next];
    if (word === undefined || this.#isFlag(word)) {
      const after = word === undefined ? '' : `; write ${shown}=${word} if ${word} is meant to be the value`;
      this.problems.push({ path: shown, message: `a value is missing${after}` });
      return;
    }
    this.flags.push({ name, text: word });
    this.#next++;
  }

  #isFlag(word: string): boolean {
    if (word === '--') return true;
    if (word.startsWith('--')) return this.#byLong.has(word.slice(2).split('=')[0] ?? '');
    return word.startsWith('-') && this.#byShort.has(word[1] ?? '');
  }

  #suggestion(word: string): string {
    const visible = [...this.#byLong].filter(([, [, spec]]) => spec.hidden !== true).map(([name]) => name);
    const near = nearest(word, visible);
    return near === undefined ? '' : `; did you mean --${near}?`;
  }
}
