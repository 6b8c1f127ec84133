import { meshCommand } from '../../flags/command.ts';
import { downFlags } from '../../lab/flags.ts';

export default meshCommand({
  id: ['lab', 'down'],
  summary: 'stop the lab and remove everything it made',
  examples: [''],
  flags: downFlags,
  run: async () => (await import('../../lab/main.ts')).runDown,
});
