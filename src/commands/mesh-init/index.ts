import { meshCommand } from '../../flags/command.ts';
import { initFlags } from '../../mesh-init/flags.ts';

export default meshCommand({
  id: ['mesh-init'],
  summary: 'redirect the traffic of a network namespace to its sidecar',
  examples: ['-u 1337 -i 10.0.0.0/8 -d 15020,15090', '--dry-run', '--clean'],
  flags: initFlags,
  run: async () => (await import('../../mesh-init/main.ts')).run,
});
