import { loggingFlags, loggingFlagsFor } from './logging.ts';
import { flagTable } from './table.ts';

const short = { type: 'bool', default: false, char: 's', summary: 'print the short form' } as const;

/** The flags of every `version` subcommand. */
export const versionFlags = flagTable({ ...loggingFlags, short });

export type VersionFlags = typeof versionFlags;

/** Those of a component whose version takes no logging flags. */
export const shortVersionFlags = flagTable({ short });

/** Those of a component with log scopes of its own. */
export function versionFlagsFor(scopes: readonly string[]): VersionFlags {
  return flagTable({ ...loggingFlagsFor(scopes), short });
}
