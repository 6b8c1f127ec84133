import { meshCommand } from '../../flags/command.ts';
import { CONFIGURATION_TYPES, debugFlags } from '../../pilot-agent/flags.ts';

export default meshCommand({
  id: ['pilot-agent', 'debug'],
  summary: "print a part of the local proxy's configuration",
  examples: ['clusters', 'secrets', 'listeners -o yaml', 'all -o json --proxyAdminPort 15001'],
  flags: debugFlags,
  args: [
    {
      name: 'CONFIGURATION-TYPE',
      summary: 'what to print',
      required: true,
      options: CONFIGURATION_TYPES,
    },
  ],
  run: async () => (await import('../../pilot-agent/main.ts')).runDebug,
});
