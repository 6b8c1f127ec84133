import { meshCommand } from '../../flags/command.ts';
import { execFlags } from '../../lab/flags.ts';

export default meshCommand({
  id: ['lab', 'exec'],
  summary: 'run a command in a container of a pod; its exit code is passed on',
  examples: ['sleep.foo -- curl -s httpbin.foo:8000/ip', 'sleep.foo -c mesh-proxy -- ps'],
  flags: execFlags,
  args: [
    { name: 'POD-OR-DEPLOYMENT[.NS]', summary: 'pod, or deployment whose first pod is meant', required: true },
    { name: 'CMD', summary: 'command and its arguments, after --', required: true, variadic: true },
  ],
  run: async () => (await import('../../lab/main.ts')).runExec,
});
