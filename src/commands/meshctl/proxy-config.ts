import { meshCommand } from '../../flags/command.ts';
import { CONFIGURATION_TYPES, proxyConfigFlags } from '../../meshctl/proxy-config/flags.ts';

export default meshCommand({
  id: ['meshctl', 'proxy-config'],
  summary: 'print a part of the configuration, or the state, of the proxy of a pod; never private keys',
  description:
    'Runs pilot-agent debug beside the proxy: in a lab by itself, in a cluster through kubectl, which has to be on the PATH. ' +
    'Where that cannot be, prints what pilot-discovery sends to the proxy: clusters, endpoints, listeners and routes.',
  examples: ['clusters httpbin.foo', 'secrets httpbin-6d9f5bcb4d-x2vnk -n foo', 'routes sleep.foo --source discovery -o yaml'],
  flags: proxyConfigFlags,
  args: [
    { name: 'configuration-type', summary: CONFIGURATION_TYPES.join(', '), required: true, options: CONFIGURATION_TYPES },
    { name: 'POD[.NAMESPACE]', summary: 'pod, or the workload that it belongs to', required: true },
  ],
  run: async () => (await import('../../meshctl/main.ts')).runProxyConfig,
});
