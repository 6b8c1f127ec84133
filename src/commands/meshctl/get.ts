import { meshCommand } from '../../flags/command.ts';
import { getFlags } from '../../meshctl/flags.ts';

export default meshCommand({
  id: ['meshctl', 'get'],
  summary: 'list objects',
  examples: ['policies.authentication.mesh.io -n foo', 'services -A', 'policy default -n foo -o yaml'],
  flags: getFlags,
  args: [
    { name: 'TYPE', summary: 'type of the objects, such as policies.authentication.mesh.io', required: true },
    { name: 'NAME', summary: 'names of the objects; all when none is given', variadic: true },
  ],
  run: async () => (await import('../../meshctl/main.ts')).runGet,
});
