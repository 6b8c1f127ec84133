import { meshCommand } from '../../flags/command.ts';
import { proxyStatusFlags } from '../../meshctl/proxy-status/flags.ts';

export default meshCommand({
  id: ['meshctl', 'proxy-status'],
  summary: 'print whether the proxies have the newest configuration, and why not',
  description:
    'SYNCED: the proxy has it. STALE: it was sent, and the proxy has not answered for the time in brackets. ' +
    'NOT SENT: the proxy has not asked, or there is nothing to send. REJECTED: the proxy refuses it and keeps to the last good one; ' +
    'the reason stands below the table.',
  examples: ['--orchconfig ~/.kube/config', 'httpbin.foo', '--address 127.0.0.1:8080 -o json'],
  flags: proxyStatusFlags,
  args: [{ name: 'PROXY', summary: 'pod or workload with its namespace, such as httpbin.foo; all when none is given' }],
  run: async () => (await import('../../meshctl/main.ts')).runProxyStatus,
});
