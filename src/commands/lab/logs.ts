import { meshCommand } from '../../flags/command.ts';
import { logsFlags } from '../../lab/flags.ts';

export default meshCommand({
  id: ['lab', 'logs'],
  summary: 'print what a container of a pod has logged',
  examples: ['httpbin.foo', 'httpbin.foo -c mesh-proxy --follow'],
  flags: logsFlags,
  args: [{ name: 'POD-OR-DEPLOYMENT[.NS]', summary: 'pod, or deployment whose first pod is meant', required: true }],
  run: async () => (await import('../../lab/main.ts')).runLogs,
});
