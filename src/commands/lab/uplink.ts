import { meshCommand } from '../../flags/command.ts';
import { uplinkFlags } from '../../lab/flags.ts';

export default meshCommand({
  id: ['lab', 'uplink'],
  summary: 'the process by which a node reaches its API server',
  examples: [''],
  flags: uplinkFlags,
  hidden: true,
  run: async () => (await import('../../lab/main.ts')).runUplink,
});
