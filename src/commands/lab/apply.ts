import { meshCommand } from '../../flags/command.ts';
import { applyFlags } from '../../lab/flags.ts';

export default meshCommand({
  id: ['lab', 'apply'],
  summary: 'create or replace the objects of manifests in the lab',
  examples: ['-f app.yaml -n foo'],
  flags: applyFlags,
  run: async () => (await import('../../lab/main.ts')).runApply,
});
