/**
 * What epochs of one proxy share besides their listeners: a segment of shared memory and sockets, both named by a base id.
 * https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/operations/hot_restart
 */
import { constants } from 'node:fs';
import { access, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

const SHARED_MEMORY = '/dev/shm';

export function baseIdFile(configPath: string): string {
  return join(configPath, 'envoy-base-id');
}

/** Whether the machine has what a hot restart needs. */
export function canRestartHot(): Promise<boolean> {
  return access(SHARED_MEMORY, constants.W_OK).then(
    () => true,
    () => false,
  );
}

/** The id that the first epoch has taken; undefined when it has not got that far. */
export async function readBaseId(configPath: string): Promise<string | undefined> {
  const text = await readFile(baseIdFile(configPath), 'utf8').catch(() => '');
  return /^[0-9]{1,10}$/.test(text.trim()) ? text.trim() : undefined;
}

/** Removes the segment that Envoy leaves behind, this agent's or that of one that was killed in the same place. */
export async function removeSharedMemory(configPath: string): Promise<void> {
  const baseId = await readBaseId(configPath);
  // Envoy leaves room for ten epochs' names after each id.
  if (baseId !== undefined) await rm(join(SHARED_MEMORY, `envoy_shared_memory_${baseId}0`), { force: true }).catch(() => {});
  await rm(baseIdFile(configPath), { force: true }).catch(() => {});
}
