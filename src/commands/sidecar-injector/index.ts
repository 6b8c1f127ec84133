import { meshCommand } from '../../flags/command.ts';
import { injectorFlags } from '../../sidecar-injector/flags.ts';

export default meshCommand({
  id: ['sidecar-injector'],
  summary: 'webhook that adds the sidecar to new pods',
  examples: [
    '--orchconfig ~/.kube/config --port 8443',
    '--healthCheckFile /health/ok --healthCheckInterval 2s --log_output_level default:debug',
  ],
  flags: injectorFlags,
  run: async () => (await import('../../sidecar-injector/main.ts')).run,
});
