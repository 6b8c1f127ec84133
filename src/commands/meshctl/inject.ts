import { meshCommand } from '../../flags/command.ts';
import { injectFlags } from '../../meshctl/flags.ts';

export default meshCommand({
  id: ['meshctl', 'inject'],
  summary: 'add the sidecar to the workloads of manifests and print them',
  examples: ['-f deployment.yaml', '-f deployment.yaml --includeIPRanges 10.0.0.0/8'],
  flags: injectFlags,
  run: async () => (await import('../../meshctl/inject.ts')).runInject,
});
