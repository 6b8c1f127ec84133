import { meshCommand } from '../../flags/command.ts';
import { debugFlags } from '../../pilot-agent/flags.ts';

export default meshCommand({
  id: ['pilot-agent', 'debug'],
  summary: "print a part of the local proxy's configuration",
  examples: ['clusters', 'all'],
  flags: debugFlags,
  args: [
    {
      name: 'CONFIGURATION-TYPE',
      summary: 'what to print',
      required: true,
      options: ['all', 'clusters', 'listeners', 'routes', 'static'],
    },
  ],
  run: async () => (await import('../../pilot-agent/main.ts')).runDebug,
});
