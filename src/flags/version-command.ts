import { DEFAULT_SCOPE } from '../io/log/levels.ts';
import { buildInfo, longVersion, shortVersion } from '../lib/version.ts';
import { type MeshCommand, meshCommand } from './command.ts';
import { type VersionFlags, versionFlags } from './version.ts';

/** The `version` subcommand of a component; some take the component's own flags too, or have log scopes of their own. */
export function versionCommand(
  component: string,
  flags: VersionFlags = versionFlags,
  scopes: readonly string[] = [DEFAULT_SCOPE],
): MeshCommand {
  return meshCommand({
    id: [component, 'version'],
    summary: 'print build version information',
    examples: ['', '--short'],
    flags,
    run: async () => {
      const { withLogOnDemand } = await import('../io/log/on-demand.ts');
      return (invocation, host) =>
        withLogOnDemand(invocation, host, scopes, async (logger) => {
          const text = invocation.options.short ? shortVersion(buildInfo) : longVersion(buildInfo, process.version);
          host.stdout.write(`${text}\n`);
          logger.debug('printed the version', { version: buildInfo.version, short: invocation.options.short });
          return 0;
        });
    },
  });
}
