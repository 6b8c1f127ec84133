import { basename } from 'node:path';
import { nearest } from '../lib/nearest.ts';
import { COMPONENTS } from './components.ts';
import type { FlagTable } from './table.ts';

/** The words of oclif's plugins, which stand beside the components. */
const PLUGIN_COMMANDS = ['help', 'autocomplete'];

export type Target =
  /** A component; `words` still hold its subcommand. `program` is what the user typed to get there. */
  | { readonly kind: 'component'; readonly component: string; readonly program: string; readonly words: readonly string[] }
  | { readonly kind: 'plugin'; readonly words: readonly string[] }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | { readonly kind: 'unknown'; readonly message: string };

/**
 * Finds the component that a process's argv asks for. argv[1] keeps the name of a symlink: one named after a component
 * selects it, any other name is `mesh`, whose first word does.
 */
export function dispatch(argv: readonly string[]): Target {
  const name = basename(argv[1] ?? '');
  const words = argv.slice(2);
  if (Object.hasOwn(COMPONENTS, name)) return { kind: 'component', component: name, program: name, words };
  const [first = '--help', ...rest] = words;
  if (first === '--help' || first === '-h') return { kind: 'help' };
  if (first === '--version') return { kind: 'version' };
  if (Object.hasOwn(COMPONENTS, first)) return { kind: 'component', component: first, program: `mesh ${first}`, words: rest };
  if (PLUGIN_COMMANDS.includes(first)) return { kind: 'plugin', words };
  return { kind: 'unknown', message: unknownWord(first, 'component', 'mesh', Object.keys(COMPONENTS)) };
}

export type Subcommand =
  | { readonly kind: 'found'; readonly name: string; readonly args: readonly string[] }
  /** No word names a subcommand: the component itself is meant. */
  | { readonly kind: 'root'; readonly args: readonly string[] }
  | { readonly kind: 'help'; readonly words: readonly string[] };

/**
 * Takes the subcommand out of a component's words: the first one that is neither a flag nor the value of one. Flags that
 * stand before it stay, in front of its arguments. A flag that `rootFlags` does not know is taken to have a value.
 */
export function findSubcommand(component: string, words: readonly string[], rootFlags: FlagTable): Subcommand {
  const subcommands = COMPONENTS[component]?.subcommands ?? [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? '';
    if (word === '--') break;
    if (word.startsWith('-') && word !== '-') {
      if (!word.includes('=') && !isBool(word, rootFlags)) i++;
      continue;
    }
    const rest = [...words.slice(0, i), ...words.slice(i + 1)];
    if (subcommands.includes(word)) return { kind: 'found', name: word, args: rest };
    if (word === 'help') return { kind: 'help', words: rest };
    break;
  }
  return { kind: 'root', args: words };
}

/** `there is no component "x" of mesh; did you mean "y"?` */
export function unknownWord(word: string, what: string, program: string, known: readonly string[]): string {
  const near = nearest(word, known);
  const hint = near === undefined ? `it is one of ${known.join(', ')}` : `did you mean "${near}"?`;
  return `${program}: there is no ${what} "${word}"; ${hint}`;
}

function isBool(word: string, table: FlagTable): boolean {
  if (word === '--help' || word === '-h') return true;
  const spec = word.startsWith('--') ? table[word.slice(2)] : Object.values(table).find(({ char }) => char === word.at(-1));
  return spec?.type === 'bool';
}
