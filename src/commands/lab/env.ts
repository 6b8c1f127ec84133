import { meshCommand } from '../../flags/command.ts';
import { envFlags } from '../../lab/flags.ts';

export default meshCommand({
  id: ['lab', 'env'],
  summary: 'print the variables that point other commands at the lab, for the shell',
  examples: [''],
  flags: envFlags,
  run: async () => (await import('../../lab/main.ts')).runEnv,
});
