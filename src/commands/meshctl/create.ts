import { meshCommand } from '../../flags/command.ts';
import { writeFlags } from '../../meshctl/flags.ts';

export default meshCommand({
  id: ['meshctl', 'create'],
  summary: 'create the objects of manifests',
  examples: ['-f policy.yaml -n foo', '-f - --orchconfig ./manifests'],
  flags: writeFlags,
  run: async () => (await import('../../meshctl/main.ts')).runCreate,
});
