import { meshCommand } from '../../flags/command.ts';
import { shortVersionFlags } from '../../flags/version.ts';
import { buildInfo, longVersion, shortVersion } from '../../lib/version.ts';

export default meshCommand({
  id: ['mixs', 'version'],
  summary: 'print build version information',
  examples: ['', '--short'],
  flags: shortVersionFlags,
  run:
    async () =>
    async ({ options }, { stdout }) => {
      stdout.write(`${options.short ? shortVersion(buildInfo) : longVersion(buildInfo, process.version)}\n`);
      return 0;
    },
});
