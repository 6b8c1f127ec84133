import { meshCommand } from '../../flags/command.ts';
import { writeFlags } from '../../meshctl/flags.ts';

export default meshCommand({
  id: ['meshctl', 'apply'],
  summary: 'create or replace the objects of manifests',
  examples: ['-f manifests/ -f extra.yaml'],
  flags: writeFlags,
  run: async () => (await import('../../meshctl/main.ts')).runApply,
});
