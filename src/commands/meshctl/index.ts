import { meshCommand } from '../../flags/command.ts';
import { storeFlags } from '../../meshctl/flags.ts';

export default meshCommand({
  id: ['meshctl'],
  summary: 'create, replace, list and explain policies and other objects',
  examples: ['get --help'],
  flags: storeFlags,
  run: 'help',
});
