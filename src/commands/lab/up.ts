import { meshCommand } from '../../flags/command.ts';
import { upFlags } from '../../lab/flags.ts';

export default meshCommand({
  id: ['lab', 'up'],
  summary: 'start the lab: control plane, network, pods',
  examples: ['', '-f manifests/ --image my/app=/usr/local/bin/app'],
  flags: upFlags,
  run: async () => (await import('../../lab/main.ts')).runUp,
});
