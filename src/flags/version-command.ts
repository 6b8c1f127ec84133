import { buildInfo, longVersion, shortVersion } from '../lib/version.ts';
import { type MeshCommand, meshCommand } from './command.ts';
import { type VersionFlags, versionFlags } from './version.ts';

/** The `version` subcommand of a component; some take the component's own flags too. */
export function versionCommand(component: string, flags: VersionFlags = versionFlags): MeshCommand {
  return meshCommand({
    id: [component, 'version'],
    summary: 'print build version information',
    examples: ['', '--short'],
    flags,
    run: async () => async (invocation, host) => {
      const text = invocation.options.short ? shortVersion(buildInfo) : longVersion(buildInfo, process.version);
      host.stdout.write(`${text}\n`);
      return 0;
    },
  });
}
