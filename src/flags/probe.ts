import { milliseconds } from '../lib/duration.ts';
import { loggingFlags } from './logging.ts';
import { flagTable } from './table.ts';

/** The flags of every `probe` subcommand. */
export const probeFlags = flagTable({
  ...loggingFlags,
  interval: {
    type: 'duration',
    default: milliseconds(0),
    summary: 'longest time since the file was last modified for the server to count as alive',
  },
  'probe-path': { type: 'string', default: '', summary: 'path of the file checked for availability' },
});

export type ProbeFlags = typeof probeFlags;
