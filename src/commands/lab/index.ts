import { meshCommand } from '../../flags/command.ts';
import { labFlags } from '../../lab/flags.ts';

export default meshCommand({
  id: ['lab'],
  summary: 'run a whole mesh on this machine, without containers',
  examples: ['up --help'],
  flags: labFlags,
  run: 'help',
});
