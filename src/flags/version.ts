import { loggingFlags } from './logging.ts';
import { flagTable } from './table.ts';

/** The flags of every `version` subcommand. */
export const versionFlags = flagTable({
  ...loggingFlags,
  short: { type: 'bool', default: false, char: 's', summary: 'print the short form' },
});

export type VersionFlags = typeof versionFlags;
