import { flagTable } from '../../flags/table.ts';
import { storeFlags } from '../flags.ts';

/** Where the pages of pilot-discovery are. */
export const discoveryPageFlags = flagTable({
  ...storeFlags,
  address: {
    type: 'stringSlice',
    default: [],
    summary:
      'host:port of the HTTP port of pilot-discovery, of each replica; when unset its pods are asked through the API server, or the lab',
  },
  meshNamespace: { type: 'string', char: 'i', default: 'mesh-system', summary: 'namespace of the control plane' },
});
