import { flagTable } from '../../flags/table.ts';
import { discoveryPageFlags } from '../discovery/flags.ts';

export { CONFIGURATION_TYPES } from '../../proxy-dump/configuration-types.ts';

/** The flags of `meshctl proxy-config`. */
export const proxyConfigFlags = flagTable({
  ...discoveryPageFlags,
  namespace: { type: 'string', char: 'n', default: '', summary: 'namespace of the pod, if its name does not say it' },
  source: {
    type: 'string',
    default: 'auto',
    options: ['auto', 'proxy', 'discovery'],
    summary: 'who is asked: the proxy itself, pilot-discovery for what it sends to it, or the first of them that answers',
  },
  output: { type: 'string', char: 'o', default: 'table', options: ['table', 'yaml', 'json'], summary: 'form of the output' },
});
