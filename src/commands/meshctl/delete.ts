import { meshCommand } from '../../flags/command.ts';
import { deleteFlags } from '../../meshctl/flags.ts';

export default meshCommand({
  id: ['meshctl', 'delete'],
  summary: 'delete the objects of manifests, or those that are named',
  examples: ['-f policy.yaml', 'policies.authentication.mesh.io default -n foo'],
  flags: deleteFlags,
  args: [
    { name: 'TYPE', summary: 'type of the objects, such as policies.authentication.mesh.io' },
    { name: 'NAME', summary: 'names of the objects', variadic: true },
  ],
  run: async () => (await import('../../meshctl/main.ts')).runDelete,
});
