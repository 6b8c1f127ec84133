import { meshCommand } from '../../flags/command.ts';
import { proxyFlags } from '../../pilot-agent/flags.ts';

export default meshCommand({
  id: ['pilot-agent', 'proxy'],
  summary: 'run the local proxy: bootstrap, certificates, restarts',
  examples: [
    '--bootstrapv2 --discoveryAddress mesh-pilot.mesh-system:15007',
    '--bootstrapv2 --id sleep.foo --ip 10.1.2.3 --configPath /tmp/proxy --binaryPath /usr/local/bin/envoy',
  ],
  flags: proxyFlags,
  run: async () => (await import('../../pilot-agent/main.ts')).runProxy,
});
