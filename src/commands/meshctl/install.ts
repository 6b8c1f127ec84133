import { meshCommand } from '../../flags/command.ts';
import { installFlags } from '../../meshctl/flags.ts';

export default meshCommand({
  id: ['meshctl', 'install'],
  summary: 'print the manifests of the control plane, or bring it into a cluster',
  examples: [
    '--crds',
    '--apply --wait --orchconfig ~/.kube/config',
    '--namespace mesh-system --image registry.example.com/mesh:0.1.0',
  ],
  flags: installFlags,
  run: async () => (await import('../../meshctl/install.ts')).runInstall,
});
