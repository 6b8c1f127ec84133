import { meshCommand } from '../../flags/command.ts';
import { loggingFlags } from '../../flags/logging.ts';

export default meshCommand({
  id: ['pilot-agent'],
  summary: 'run the local proxy and give it configuration, keys and certificates',
  examples: ['proxy --help'],
  flags: loggingFlags,
  run: 'help',
});
