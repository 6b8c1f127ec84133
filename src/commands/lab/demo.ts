import { meshCommand } from '../../flags/command.ts';
import { demoFlags } from '../../lab/flags.ts';

export default meshCommand({
  id: ['lab', 'demo'],
  summary: 'bring a mesh up and walk it through the reference scenario',
  examples: ['', '--output json', '--keep'],
  flags: demoFlags,
  run: async () => (await import('../../lab/demo/main.ts')).runDemo,
});
