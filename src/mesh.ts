/**
 * The executable's entry: finds the command that argv asks for, loads that one and runs it. oclif itself, which describes
 * the commands, is loaded only for help and completion, because loading it takes longer than most commands run.
 */
import { fileURLToPath } from 'node:url';
import { EXIT_USAGE, type MeshCommand, printError } from './flags/command.ts';
import { COMPONENTS } from './flags/components.ts';
import { dispatch, findSubcommand, type Target, unknownWord } from './flags/dispatch.ts';
import { processHost } from './io/process-host.ts';
import { buildInfo } from './lib/version.ts';

/** The folder of package.json: this file lies one below it, as source and as built. */
const ROOT = fileURLToPath(new URL('..', import.meta.url));

async function loadCommand(component: string, file: string): Promise<MeshCommand> {
  const module: { readonly default: MeshCommand } = await import(`./commands/${component}/${file}.ts`);
  return module.default;
}

async function describe(words: readonly string[]): Promise<number> {
  const oclif = await import('./flags/describe.ts');
  await oclif.describe(words, ROOT);
  return 0;
}

async function showHelp(words: readonly string[]): Promise<number> {
  return describe([...words, '--help']);
}

async function runComponent({ component, program, words }: Extract<Target, { kind: 'component' }>): Promise<number> {
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
  const outcome = await command.execute(found.args, fullProgram, processHost(process));
  return outcome.kind === 'help' ? showHelp(ids) : outcome.code;
}

async function main(): Promise<number> {
  const target = dispatch(process.argv);
  switch (target.kind) {
    case 'component':
      return runComponent(target);
    case 'plugin':
      return describe(target.words);
    case 'help':
      return showHelp([]);
    case 'version':
      process.stdout.write(`mesh ${buildInfo.version}\n`);
      return 0;
    case 'unknown':
      printError(process, target.message);
      return EXIT_USAGE;
  }
}

const code = await main();
// What a component left open, such as an idle connection, does not keep the process; what it wrote is out first.
process.stdout.write('', () => process.stderr.write('', () => process.exit(code === 0 ? process.exitCode : code)));
