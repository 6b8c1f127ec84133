import { buildInfo, longVersion, shortVersion } from '../lib/version.ts';
import { type MeshCommand, meshCommand } from './command.ts';
import { loggingFlags } from './logging.ts';
import { flagTable } from './table.ts';

export const versionFlags = flagTable({
  ...loggingFlags,
  short: { type: 'bool', default: false, char: 's', summary: 'print the short form' },
});

/** The `version` subcommand of a component. */
export function versionCommand(component: string): MeshCommand {
  return meshCommand({
    id: [component, 'version'],
    summary: 'print build version information',
    examples: ['', '--short'],
    flags: versionFlags,
    run: async () => async (invocation, host) => {
      const text = invocation.options.short ? shortVersion(buildInfo) : longVersion(buildInfo, process.version);
      host.stdout.write(`${text}\n`);
      return 0;
    },
  });
}
