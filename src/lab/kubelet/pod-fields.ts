import type { KubeObject } from '../../model/object.ts';
import { NODE_ADDRESS } from '../network/addresses.ts';
import { Fields } from './fields.ts';

/** The name of the lab's one node. */
export const NODE_NAME = 'lab';

const SUBSCRIPT = /^metadata\.(labels|annotations)\['([^']+)'\]$/;

/** A field of a pod by its downward API path; undefined when the API has no such field. */
export function podField(pod: KubeObject, podIp: string, serviceAccount: string, fieldPath: string): string | undefined {
  const { name, namespace = '', uid = '', labels = {}, annotations = {} } = pod.metadata;
  const subscript = SUBSCRIPT.exec(fieldPath);
  if (subscript !== null) {
    const [, map, key = ''] = subscript;
    return (map === 'labels' ? labels : annotations)[key] ?? '';
  }
  switch (fieldPath) {
    case 'metadata.name':
      return name;
    case 'metadata.namespace':
      return namespace;
    case 'metadata.uid':
      return uid;
    case 'metadata.labels':
      return listed(labels);
    case 'metadata.annotations':
      return listed(annotations);
    case 'spec.nodeName':
      return new Fields(pod['spec'], 'spec', []).string('nodeName') ?? NODE_NAME;
    case 'spec.serviceAccountName':
      return serviceAccount;
    case 'status.podIP':
    case 'status.podIPs':
      return podIp;
    case 'status.hostIP':
    case 'status.hostIPs':
      return NODE_ADDRESS;
    default:
      return undefined;
  }
}

/** One `key="value"` a line, as the kubelet writes labels and annotations into a file. */
function listed(map: Readonly<Record<string, string>>): string {
  return Object.entries(map)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join('\n');
}
