import { meshCommand } from '../../flags/command.ts';
import { probeFlagsFor } from '../../flags/probe.ts';
import { MIXS_SCOPES } from '../../mixs/flags.ts';

export default meshCommand({
  id: ['mixs', 'probe'],
  summary: 'check that the file of a locally running server is fresh',
  examples: ['--probe-path /tmp/mixs.liveness --interval 4s'],
  flags: probeFlagsFor(MIXS_SCOPES),
  run: async () => (await import('../../io/probe/probe.ts')).probeCommandFor(MIXS_SCOPES),
});
