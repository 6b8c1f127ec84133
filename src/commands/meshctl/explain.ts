import { meshCommand } from '../../flags/command.ts';
import { explainFlags } from '../../meshctl/flags.ts';

export default meshCommand({
  id: ['meshctl', 'explain'],
  summary: 'print what authentication a service requires and which object decided it',
  examples: ['httpbin.foo', 'httpbin.foo 8000 -o json'],
  flags: explainFlags,
  args: [
    { name: 'SERVICE[.NS]', summary: 'service, with its namespace or that of -n', required: true },
    { name: 'PORT', summary: 'number or name of a port; all when none is given' },
  ],
  run: async () => (await import('../../meshctl/main.ts')).runExplain,
});
