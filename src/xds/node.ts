import { MeshError } from '../lib/errors.ts';
import { familyOf } from '../model/address.ts';

/** A proxy, as its node message tells. */
export interface ProxyNode {
  readonly id: string;
  readonly cluster: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Which kinds of addresses a proxy can listen on. */
export type Families = 'ipv4' | 'ipv6' | 'dual';

export interface ProxyIdentity {
  readonly namespace: string;
  /** `namespace/name` of the pod. */
  readonly workload: string;
  readonly addresses: readonly string[];
}

const NODE_TYPES = ['sidecar', 'ingress', 'router'];

/** Reads a node id, `sidecar~10.244.0.5~sleep-1.foo~foo.svc.cluster.local`. Throws MeshError `invalid` for anything else. */
export function parseNode(node: ProxyNode): ProxyIdentity {
  const [type = '', address = '', id = '', ...domain] = node.id.split('~');
  const shown = JSON.stringify(node.id.slice(0, 200));
  if (NODE_TYPES.includes(type) && type !== 'sidecar') {
    throw new MeshError('invalid', `node ${shown} is of type ${type}, and only sidecars are configured`);
  }
  // A pod's name may contain dots, its namespace may not.
  const dot = id.lastIndexOf('.');
  if (type !== 'sidecar' || familyOf(address) === undefined || dot < 1 || dot === id.length - 1 || domain.length !== 1) {
    throw new MeshError('invalid', `node id ${shown} is not of the form sidecar~<ip>~<pod>.<namespace>~<domain>`);
  }
  const namespace = id.slice(dot + 1);
  const addresses = [address, ...instanceAddresses(node.metadata)];
  return { namespace, workload: `${namespace}/${id.slice(0, dot)}`, addresses };
}

function instanceAddresses(metadata: ProxyNode['metadata']): readonly string[] {
  const listed = metadata['INSTANCE_IPS'];
  return typeof listed === 'string' ? listed.split(',').map((address) => address.trim()) : [];
}

export function familiesOf(addresses: readonly string[]): Families {
  const families = new Set(addresses.map(familyOf));
  if (families.has('ipv6')) return families.has('ipv4') ? 'dual' : 'ipv6';
  return 'ipv4';
}
