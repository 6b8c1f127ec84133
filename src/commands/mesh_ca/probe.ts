import { meshCommand } from '../../flags/command.ts';
import { probeFlags } from '../../flags/probe.ts';

export default meshCommand({
  id: ['mesh_ca', 'probe'],
  summary: 'check that the file of a locally running server is fresh',
  examples: ['--probe-path /tmp/ca.liveness --interval 4s'],
  flags: probeFlags,
  run: async () => (await import('../../io/probe/probe.ts')).probeCommand,
});
