/** The liveness check of a locally running webhook. */
import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import { probeCommand } from '../io/probe/probe.ts';
import type { InjectorProbeFlags } from './flags.ts';

/** Checks --probe-path; the server's own flags, which the probe takes too, stand in for what is not given. */
export function run({ options, given }: Invocation<InjectorProbeFlags>, host: Host): Promise<number> {
  const path = options['probe-path'] || options.healthCheckFile;
  const interval = options.interval > 0 ? options.interval : options.healthCheckInterval;
  return probeCommand({ options: { ...options, 'probe-path': path, interval }, given }, host);
}
