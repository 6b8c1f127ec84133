import { flagTable } from '../../flags/table.ts';
import { discoveryPageFlags } from '../discovery/flags.ts';

/** The flags of `meshctl proxy-status`. */
export const proxyStatusFlags = flagTable({
  ...discoveryPageFlags,
  output: { type: 'string', char: 'o', default: 'table', options: ['table', 'yaml', 'json'], summary: 'form of the output' },
});
