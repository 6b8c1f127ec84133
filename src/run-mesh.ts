/** Finds the command that argv asks for, loads that one and runs it. */
import { EXIT_USAGE, type MeshCommand, printError } from './flags/command.ts';
import { COMPONENTS } from './flags/components.ts';
import { dispatch, findSubcommand, type Target, unknownWord } from './flags/dispatch.ts';
import type { Host } from './io/host.ts';
import { buildInfo } from './lib/version.ts';

/** Where the executable's parts come from: loading all of them takes longer than most commands run. */
export interface Parts {
  /** The command of a file below `commands`. */
  loadCommand(component: string, file: string): Promise<MeshCommand>;
  /** Help and completion, for which oclif is needed. */
  describe(words: readonly string[]): Promise<number>;
  /** Of the command that is run. */
  host(): Host;
}

/** Runs what the process's argv asks for; gives the exit code. */
async function runComponent(
  { component, program, words }: Extract<Target, { kind: 'component' }>,
  { loadCommand, describe, host }: Parts,
): Promise<number> {
  const showHelp = (of: readonly string[]): Promise<number> => describe([...of, '--help']);
  const startsWithFlag = words[0]?.startsWith('-') === true;
  const rootFlags = startsWithFlag ? (await loadCommand(component, 'index')).tables.flags : {};
  const found = findSubcommand(component, words, rootFlags);
  if (found.kind === 'help') return showHelp([component, ...found.words]);
  const ids = found.kind === 'found' ? [component, found.name] : [component];
  const stranger = found.kind === 'root' ? found.args.find((word) => !word.startsWith('-')) : undefined;
  if (stranger !== undefined && stranger === words[0]) {
    printError(process, unknownWord(stranger, 'subcommand', program, COMPONENTS[component]?.subcommands ?? []));
    return EXIT_USAGE;
  }
  const command = await loadCommand(component, found.kind === 'found' ? found.name : 'index');
  const fullProgram = found.kind === 'found' ? `${program} ${found.name}` : program;
  const outcome = await command.execute(found.args, fullProgram, host());
  return outcome.kind === 'help' ? showHelp(ids) : outcome.code;
}

/** Runs what the process's argv asks for; gives the exit code. */
export async function runMesh(parts: Parts): Promise<number> {
  const target = dispatch(process.argv);
  switch (target.kind) {
    case 'component':
      return runComponent(target, parts);
    case 'plugin':
      return parts.describe(target.words);
    case 'help':
      return parts.describe(['--help']);
    case 'version':
      process.stdout.write(`mesh ${buildInfo.version}\n`);
      return 0;
    case 'unknown':
      printError(process, target.message);
      return EXIT_USAGE;
  }
}
