import { meshCommand } from '../../flags/command.ts';
import { statusFlags } from '../../lab/flags.ts';

export default meshCommand({
  id: ['lab', 'status'],
  summary: 'print the state of the lab and its pods',
  examples: ['', '--output json'],
  flags: statusFlags,
  run: async () => (await import('../../lab/main.ts')).runStatus,
});
