import { meshCommand } from '../../flags/command.ts';
import { writeFlags } from '../../meshctl/flags.ts';

export default meshCommand({
  id: ['meshctl', 'replace'],
  summary: 'replace objects that exist with those of manifests',
  examples: ['-f policy.yaml -n foo'],
  flags: writeFlags,
  run: async () => (await import('../../meshctl/main.ts')).runReplace,
});
