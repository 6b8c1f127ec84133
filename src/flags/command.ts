import type { Host } from '../io/host.ts';
import { processHost } from '../io/process-host.ts';
import { formatProblem, MeshError } from '../lib/errors.ts';
import { dispatch } from './dispatch.ts';
import { type OclifArg, type OclifFlag, oclifArgs, oclifFlags } from './oclif.ts';
import { parseCommandLine } from './parse.ts';
import type { ArgSpec, FlagTable, Invocation } from './table.ts';

/** Runs a component with its parsed options; gives the exit code. */
export type Run<T extends FlagTable> = (invocation: Invocation<T>, host: Host) => Promise<number>;

/** Everything about one command. */
export interface CommandSpec<T extends FlagTable> {
  /** The command's words, such as `['pilot-agent', 'proxy']`. */
  readonly id: readonly [component: string, subcommand?: string];
  /** One line, lower case, no final period. */
  readonly summary: string;
  readonly description?: string;
  /** Command lines that work, without the program's own words: `--orchconfig ./manifests`. */
  readonly examples: readonly string[];
  readonly flags: T;
  readonly args?: readonly ArgSpec[];
  readonly hidden?: boolean;
  /** Loads the component; `help` shows the help instead. */
  readonly run: (() => Promise<Run<T>>) | 'help';
}

/** How a command line ended. */
export type Outcome = { readonly kind: 'exit'; readonly code: number } | { readonly kind: 'help' };

/** A command: what oclif reads to describe it, and `execute`, which the executable and the tests run it with. */
export interface MeshCommand {
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  readonly examples: readonly string[];
  readonly flags: Readonly<Record<string, OclifFlag>>;
  readonly args: Readonly<Record<string, OclifArg>>;
  readonly usage: string;
  readonly hidden: boolean;
  readonly strict: boolean;
  /** The tables that all of it was made from; not enumerable, so that oclif's manifest does not repeat them. */
  readonly tables: { readonly flags: FlagTable; readonly args: readonly ArgSpec[] };
  execute(argv: readonly string[], program: string, host: Host): Promise<Outcome>;
  /** oclif's entry, for commands that it starts itself. */
  run(argv: readonly string[]): Promise<void>;
}

export const EXIT_FAILURE = 1;
export const EXIT_USAGE = 2;

/** Makes a command of its tables. Its component is loaded only when it really runs. */
export function meshCommand<T extends FlagTable>(spec: CommandSpec<T>): MeshCommand {
  const args = spec.args ?? [];
  const words = spec.id.filter((word) => word !== undefined);
  const command = {
    id: words.join(':'),
    summary: spec.summary,
    ...(spec.description === undefined ? {} : { description: spec.description }),
    examples: spec.examples.map((example) => `<%= config.bin %> ${[...words, example].join(' ')}`.trimEnd()),
    flags: oclifFlags(spec.flags),
    args: oclifArgs(args),
    usage: usageLine(words, args),
    hidden: spec.hidden === true,
    strict: true,
    async run(argv: readonly string[]): Promise<void> {
      const target = dispatch(process.argv);
      const program = target.kind === 'component' ? [target.program, ...words.slice(1)].join(' ') : `mesh ${words.join(' ')}`;
      const outcome = await execute(spec, argv, program, processHost(process));
      process.exitCode = outcome.kind === 'exit' ? outcome.code : 0;
    },
  };
  const hidden = {
    tables: { flags: spec.flags, args },
    execute: (argv: readonly string[], program: string, host: Host) => execute(spec, argv, program, host),
  };
  return Object.defineProperties(command, {
    tables: { value: hidden.tables },
    execute: { value: hidden.execute },
  }) as typeof command & typeof hidden;
}

/** `<%= config.bin %> lab exec [FLAGS] POD -- CMD...`: what is optional stands in brackets. */
function usageLine(words: readonly string[], args: readonly ArgSpec[]): string {
  const shown = args.map(({ name, required, variadic }) => {
    const word = variadic === true ? `${name}...` : name;
    return required === true ? word : `[${word}]`;
  });
  return [...words, '[FLAGS]', ...shown].join(' ');
}

async function execute<T extends FlagTable>(
  spec: CommandSpec<T>,
  argv: readonly string[],
  program: string,
  host: Host,
): Promise<Outcome> {
  const parsed = parseCommandLine(spec.flags, spec.args ?? [], argv, host.env);
  if (!parsed.ok) {
    for (const problem of parsed.problems) printError(host, `${program}: ${formatProblem(problem)}`);
    return { kind: 'exit', code: EXIT_USAGE };
  }
  if (parsed.value.kind === 'help' || spec.run === 'help') return { kind: 'help' };
  try {
    const run = await spec.run();
    return { kind: 'exit', code: await run(parsed.value.invocation, host) };
  } catch (thrown) {
    const error = MeshError.from(thrown);
    printError(host, error.code === 'usage' ? `${program}: ${error.message}` : error.message);
    return { kind: 'exit', code: error.code === 'usage' ? EXIT_USAGE : EXIT_FAILURE };
  }
}

/** One line, whatever the message holds. */
export function printError(host: Pick<Host, 'stderr'>, message: string): void {
  host.stderr.write(`error: ${message.trim().replace(/\s*\n\s*/g, '; ')}\n`);
}
