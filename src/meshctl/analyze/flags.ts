import { flagTable } from '../../flags/table.ts';
import { storeFlags } from '../flags.ts';

/** The flags of `meshctl analyze`. */
export const analyzeFlags = flagTable({
  ...storeFlags,
  namespace: {
    type: 'string',
    char: 'n',
    default: '',
    summary: 'tell of this namespace and of what belongs to none only; objects of files that name none are of it',
  },
  filename: {
    type: 'stringArray',
    char: 'f',
    default: [],
    summary: 'file or directory of manifests to analyse before they are applied, or - for standard input; repeatable',
  },
  meshNamespace: { type: 'string', char: 'i', default: 'mesh-system', summary: 'namespace of the control plane' },
  domain: { type: 'string', default: 'cluster.local', summary: 'DNS domain suffix of services' },
  'fetch-jwks': {
    type: 'bool',
    default: false,
    summary: 'also fetch the key sets that policies name, from where this command runs',
  },
  output: { type: 'string', char: 'o', default: 'table', options: ['table', 'yaml', 'json'], summary: 'form of the output' },
});
