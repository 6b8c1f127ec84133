import { meshCommand } from '../../flags/command.ts';
import { loggingFlagsFor } from '../../flags/logging.ts';
import { DISCOVERY_SCOPES } from '../../pilot-discovery/flags.ts';

export default meshCommand({
  id: ['pilot-discovery'],
  summary: 'turn services and policies into proxy configuration and serve it',
  examples: ['discovery --help'],
  flags: loggingFlagsFor(DISCOVERY_SCOPES),
  run: 'help',
});
