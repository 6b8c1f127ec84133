import { meshCommand } from '../../flags/command.ts';
import { discoveryFlags } from '../../pilot-discovery/flags.ts';

export default meshCommand({
  id: ['pilot-discovery', 'discovery'],
  summary: 'start the discovery service',
  examples: [
    '--orchconfig ./manifests',
    '--orchconfig ./manifests --grpcAddr 127.0.0.1:15010 --port 8080 --log_output_level default:debug',
  ],
  flags: discoveryFlags,
  run: async () => (await import('../../pilot-discovery/main.ts')).run,
});
