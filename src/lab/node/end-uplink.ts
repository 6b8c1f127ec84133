import { setTimeout as delay } from 'node:timers/promises';
import { isRunning } from '../process-identity.ts';
import type { ClusterMembership } from '../run-state.ts';

const POLL_MS = 10;

/** Ends the uplink of a node that is gone, which would end by itself, but later. */
export async function endUplink(cluster: ClusterMembership | undefined): Promise<void> {
  const uplink = cluster?.uplink;
  if (uplink === undefined || !isRunning(uplink)) return;
  process.kill(uplink.pid, 'SIGKILL');
  while (isRunning(uplink)) await delay(POLL_MS);
}
