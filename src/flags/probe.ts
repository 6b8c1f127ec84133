import { milliseconds } from '../lib/duration.ts';
import { loggingFlags, loggingFlagsFor } from './logging.ts';
import { flagTable } from './table.ts';

const interval = {
  type: 'duration',
  default: milliseconds(0),
  summary: 'longest time since the file was last modified for the server to count as alive',
} as const;
const path = { type: 'string', default: '', summary: 'path of the file checked for availability' } as const;

/** The flags of every `probe` subcommand. */
export const probeFlags = flagTable({ ...loggingFlags, interval, 'probe-path': path });

export type ProbeFlags = typeof probeFlags;

/** Those of a component with log scopes of its own. */
export function probeFlagsFor(scopes: readonly string[]): ProbeFlags {
  return flagTable({ ...loggingFlagsFor(scopes), interval, 'probe-path': path });
}
