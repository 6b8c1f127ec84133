import { meshCommand } from '../../flags/command.ts';
import { logsFlags } from '../../lab/flags.ts';

export default meshCommand({
  id: ['lab', 'logs'],
  summary: 'print what a container of a pod, or a component of the control plane, has logged',
  examples: ['httpbin.foo', 'httpbin.foo -c mesh-proxy --follow', 'pilot-discovery'],
  flags: logsFlags,
  args: [
    {
      name: 'POD-OR-DEPLOYMENT[.NS]',
      summary: 'pod, deployment whose first pod is meant, or mesh_ca or pilot-discovery',
      required: true,
    },
  ],
  run: async () => (await import('../../lab/main.ts')).runLogs,
});
