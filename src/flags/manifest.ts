import { allCommands } from './catalogue.ts';
import type { MeshCommand } from './command.ts';

/** One command in oclif.manifest.json, as oclif's own generator writes it. */
function entry(command: MeshCommand): Record<string, unknown> {
  const [component = '', file = 'index'] = command.id.split(':');
  return {
    aliases: [],
    args: named(command.args),
    ...(command.description === undefined ? {} : { description: command.description }),
    examples: command.examples,
    flags: named(command.flags),
    hasDynamicHelp: false,
    hidden: command.hidden,
    hiddenAliases: [],
    id: command.id,
    pluginAlias: 'mesh',
    pluginName: 'mesh',
    pluginType: 'core',
    strict: command.strict,
    summary: command.summary,
    usage: command.usage,
    isESM: true,
    relativePath: ['dist', 'commands', component, `${file}.js`],
  };
}

/** oclif wants each definition to repeat its name; functions do not go into JSON. */
function named(definitions: Readonly<Record<string, object>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(definitions).map(([name, definition]) => [name, { name, ...definition }]));
}

/** The content of oclif.manifest.json, from which oclif knows the commands without loading them. */
export async function commandManifest(
  version: string,
): Promise<{ readonly commands: Record<string, unknown>; readonly version: string }> {
  const commands = await allCommands();
  return { commands: Object.fromEntries(commands.map((command) => [command.id, entry(command)])), version };
}
