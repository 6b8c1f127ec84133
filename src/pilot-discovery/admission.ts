/** Who gets which configuration: a proxy that shows a certificate gets that of its own identity, and no other. */
import type { X509Certificate } from 'node:crypto';
import type { ProxyNode } from '../delivery/ports.ts';
import { MeshError, type Parsed } from '../lib/errors.ts';
import { formatSpiffeId, type SpiffeId } from '../lib/spiffe.ts';
import type { Snapshot } from '../model/snapshot.ts';
import type { Workload } from '../model/workload.ts';
import { parseNode } from '../xds/node.ts';

/** Whoever asks for the configuration of a node. */
export interface Peer {
  readonly address: string;
  /** Verified against the roots. */
  readonly certificate: X509Certificate | undefined;
}

/** Throws MeshError `unauthenticated` or `permission_denied` for a peer that does not get the configuration of the node. */
export type Admission = (node: ProxyNode, peer: Peer) => void;

/** Whom a certificate names. Throws MeshError `unauthenticated` when it has expired, `permission_denied` when it names no workload. */
export type Identify = (certificate: X509Certificate) => SpiffeId;

export interface IdentifyDeps {
  readonly now: () => Date;
  /** Whom a certificate names; undefined where TLS is not served, so that nobody can show one. */
  readonly spiffeIdOf: ((certificate: X509Certificate) => Parsed<SpiffeId>) | undefined;
}

export interface AdmissionDeps {
  /** The one in force; nobody is admitted before there is one. */
  readonly snapshot: () => Snapshot | undefined;
  readonly identify: Identify;
}

const UNREADABLE: Parsed<SpiffeId> = { ok: false, problems: [{ path: '', message: 'TLS is not served' }] };

export function createIdentify({ now, spiffeIdOf }: IdentifyDeps): Identify {
  const identities = new WeakMap<X509Certificate, Parsed<SpiffeId>>();
  return (certificate) => {
    const { validToDate: end } = certificate;
    if (now() > end)
      throw new MeshError('unauthenticated', `the client certificate expired at ${end.toISOString()}; connect with a new one`);
    const identity = identities.get(certificate) ?? spiffeIdOf?.(certificate) ?? UNREADABLE;
    identities.set(certificate, identity);
    if (identity.ok) return identity.value;
    throw new MeshError(
      'permission_denied',
      `the client certificate is not a workload's: ${identity.problems[0]?.message ?? ''}`,
    );
  };
}

/**
 * Asked when a proxy comes and again with every snapshot, so that a pod that is gone, or runs as somebody else, loses its stream. What the
 * mesh configuration's `controlPlaneAuthPolicy` decides is only whether one may come without a certificate.
 */
export function createAdmission({ snapshot, identify }: AdmissionDeps): Admission {
  return (node, peer) => {
    const current = snapshot();
    if (current === undefined) throw new MeshError('unavailable', 'the configuration has not been read yet; try again');
    if (peer.certificate === undefined) return requireNoCertificate(current, peer);
    requireOwn(current, node, identify(peer.certificate));
  };
}

function requireNoCertificate({ mesh }: Snapshot, { address }: Peer): void {
  if (mesh.controlPlaneAuthPolicy === 'NONE') return;
  throw new MeshError(
    'unauthenticated',
    `${address} shows no client certificate, and the mesh configuration has defaultConfig.controlPlaneAuthPolicy MUTUAL_TLS; ` +
      'give pilot-agent --controlPlaneAuthPolicy MUTUAL_TLS',
  );
}

function requireOwn(snapshot: Snapshot, node: ProxyNode, shown: SpiffeId): void {
  const refuse = (needed: string): never => {
    throw new MeshError('permission_denied', `the client certificate says ${formatSpiffeId(shown)}, but ${needed}`);
  };
  const claimed = parseNode(node);
  const id = JSON.stringify(node.id.slice(0, 200));
  const workload = snapshot.workloadsByKey.get(claimed.workload);
  if (workload === undefined) return refuse(`no pod ${claimed.workload} is known, which node ${id} says to be`);
  const [address = ''] = claimed.addresses;
  if (!hasAddress(workload, address)) {
    return refuse(`pod ${claimed.workload} has the address ${workload.addresses.join(', ')}, not that of node ${id}`);
  }
  const { namespace, serviceAccount } = workload;
  const needed = formatSpiffeId({ trustDomain: snapshot.mesh.trustDomain, namespace, serviceAccount });
  if (formatSpiffeId(shown) !== needed) refuse(`pod ${claimed.workload}, which node ${id} says to be, is ${needed}`);
}

/** A pod in its host's network has no address of its own. */
function hasAddress({ addresses }: Workload, address: string): boolean {
  return addresses.length === 0 || addresses.includes(address);
}
