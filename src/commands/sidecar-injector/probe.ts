import { meshCommand } from '../../flags/command.ts';
import { injectorProbeFlags } from '../../sidecar-injector/flags.ts';

export default meshCommand({
  id: ['sidecar-injector', 'probe'],
  summary: 'check liveness or readiness of a locally running server',
  examples: ['--probe-path /health/ok --interval 4s'],
  flags: injectorProbeFlags,
  run: async () => (await import('../../sidecar-injector/probe.ts')).run,
});
