import { flagTable } from '../../flags/table.ts';
import { storeFlags } from '../flags.ts';

/** The flags of `meshctl tls-check`. */
export const tlsCheckFlags = flagTable({
  ...storeFlags,
  namespace: {
    type: 'string',
    char: 'n',
    default: '',
    summary: 'namespace of the services and pods that name none; when unset all services are listed',
  },
  filename: {
    type: 'stringArray',
    char: 'f',
    default: [],
    summary: 'file or directory of manifests to check before they are applied, or - for standard input; repeatable',
  },
  meshNamespace: { type: 'string', char: 'i', default: 'mesh-system', summary: 'namespace of the control plane' },
  domain: { type: 'string', default: 'cluster.local', summary: 'DNS domain suffix of services' },
  output: { type: 'string', char: 'o', default: 'table', options: ['table', 'yaml', 'json'], summary: 'form of the output' },
});
