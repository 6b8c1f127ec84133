import { meshCommand } from '../../flags/command.ts';
import { serverFlags } from '../../mixs/flags.ts';

export default meshCommand({
  id: ['mixs', 'server'],
  summary: 'start the server of checks, quota and reports',
  examples: [
    '--configStoreURL fs://./rules',
    '--configStoreURL k8s://$HOME/.kube/config --port 9091 --log_output_level default:info,adapters:debug',
  ],
  flags: serverFlags,
  run: async () => (await import('../../mixs/main.ts')).run,
});
