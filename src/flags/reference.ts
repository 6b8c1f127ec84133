import type { MeshCommand } from './command.ts';
import { COMPONENTS } from './components.ts';
import type { FlagSpec } from './table.ts';
import { formatFlagValue } from './values.ts';

/** The reference page of the command line, in Markdown, made of the tables. Hidden commands and flags are left out. */
export function referencePage(commands: readonly MeshCommand[]): string {
  const intro = [
    '# Command line',
    '',
    'Made from the flag tables (`src/*/flags.ts`) by `npm run golden:update`; do not edit.',
    '',
    '`mesh COMPONENT SUBCOMMAND`, or `COMPONENT SUBCOMMAND` through a symlink named after the component. Values are given as',
    '`--flag value` or `--flag=value`, booleans as `--flag` or `--flag=false`; `--` ends the flags. Of a flag given twice the',
    'last one counts, except for lists. Exit codes: 0 done, 1 failed, 2 the command line is wrong.',
  ];
  const sections = Object.entries(COMPONENTS).flatMap(([component, { summary }]) => {
    const own = commands.filter(({ id, hidden }) => !hidden && (id === component || id.startsWith(`${component}:`)));
    return ['', `## ${component}`, '', `${capital(summary)}.`, ...own.flatMap(section)];
  });
  return `${[...intro, ...sections].join('\n')}\n`;
}

function section(command: MeshCommand): string[] {
  const flags = Object.entries(command.tables.flags).filter(([, spec]) => spec.hidden !== true);
  const args = command.tables.args.map(
    ({ name, summary, required }) => `- \`${name}\`: ${summary}${required === true ? '' : ' (optional)'}`,
  );
  const examples = command.examples.map((example) => example.replace('<%= config.bin %>', 'mesh'));
  const table = [
    '| Flag | Short | Type | Default | Meaning |',
    '|---|---|---|---|---|',
    ...flags.map(([name, spec]) => row(name, spec)),
  ];
  return [
    ...['', `### ${command.usage}`, '', `${capital(command.summary)}.`],
    ...(args.length === 0 ? [] : ['', ...args]),
    ...(flags.length === 0 ? [] : ['', ...table]),
    ...['', '```sh', ...examples, '```'],
  ];
}

function row(name: string, spec: FlagSpec): string {
  const value = formatFlagValue(spec);
  const names = [name, ...(spec.aliases ?? [])].map((word) => `\`--${word}\``).join(', ');
  const notes = [
    spec.summary,
    ...('options' in spec && spec.options !== undefined ? [`one of ${spec.options.join(', ')}`] : []),
    ...(spec.env === undefined ? [] : [`else from the environment: \`${spec.env}\``]),
    ...(spec.refused === undefined ? [] : [`**refused**: ${spec.refused}`]),
    ...Object.entries('refusedValues' in spec ? (spec.refusedValues ?? {}) : {}).map(
      ([word, reason]) => `**${word} is refused**: ${reason}`,
    ),
  ];
  const cells = [
    names,
    spec.char === undefined ? '' : `\`-${spec.char}\``,
    spec.type,
    value === '' ? '' : `\`${value}\``,
    notes.join('; '),
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
