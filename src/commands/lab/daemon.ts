import { meshCommand } from '../../flags/command.ts';
import { daemonFlags } from '../../lab/flags.ts';

export default meshCommand({
  id: ['lab', 'daemon'],
  summary: 'the process behind a running lab',
  examples: [''],
  flags: daemonFlags,
  hidden: true,
  run: async () => (await import('../../lab/main.ts')).runDaemon,
});
