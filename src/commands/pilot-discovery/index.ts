import { meshCommand } from '../../flags/command.ts';
import { loggingFlags } from '../../flags/logging.ts';

export default meshCommand({
  id: ['pilot-discovery'],
  summary: 'turn services and policies into proxy configuration and serve it',
  examples: ['discovery --help'],
  flags: loggingFlags,
  run: 'help',
});
