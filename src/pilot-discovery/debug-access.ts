/** Who reads which pages below /debug. They show what discovery gives to all proxies, so they are guarded as it is. */
import type { ProxyNode } from '../delivery/ports.ts';
import type { HttpRequest } from '../io/http/types.ts';
import { MeshError } from '../lib/errors.ts';
import { formatSpiffeId } from '../lib/spiffe.ts';
import type { Snapshot } from '../model/snapshot.ts';
import type { Admission, Identify } from './admission.ts';

/** `own`: what is about the proxies that `sees` says. */
export type Access = { readonly type: 'all' } | { readonly type: 'own'; readonly sees: (node: ProxyNode) => boolean };

/** Throws MeshError `unauthenticated`, `permission_denied` or `unavailable` for who gets no page at all. */
export type DebugAccess = (request: Pick<HttpRequest, 'remoteAddress' | 'certificate'>) => Access;

export interface DebugAccessDeps {
  readonly snapshot: () => Snapshot | undefined;
  readonly identify: Identify;
  readonly admit: Admission;
  /** Of the control plane: whoever has an identity there operates the mesh. */
  readonly namespace: string;
}

const ALL: Access = { type: 'all' };

/**
 * Where the mesh configuration asks for mutual TLS (`controlPlaneAuthPolicy`), a page is for this machine or pod, for identities of the control
 * plane's namespace, and as far as it is about themselves for workloads. Else discovery is open, and so are the pages.
 */
export function createDebugAccess({ snapshot, identify, admit, namespace }: DebugAccessDeps): DebugAccess {
  return ({ remoteAddress: address, certificate }) => {
    if (isLocal(address)) return ALL;
    const current = snapshot();
    if (current === undefined)
      throw new MeshError('unavailable', 'the configuration has not been read yet, so who may look is not known');
    if (current.mesh.controlPlaneAuthPolicy === 'NONE') return ALL;
    if (certificate === undefined) {
      throw new MeshError(
        'unauthenticated',
        `${address} shows no client certificate, and the mesh configuration has defaultConfig.controlPlaneAuthPolicy MUTUAL_TLS; ` +
          'ask from the machine or pod that pilot-discovery runs on, or by https with a certificate',
      );
    }
    const shown = identify(certificate);
    const { trustDomain } = current.mesh;
    if (shown.trustDomain !== trustDomain) {
      throw new MeshError(
        'permission_denied',
        `the client certificate says ${formatSpiffeId(shown)}, which is not of trust domain ${trustDomain}`,
      );
    }
    if (shown.namespace === namespace) return ALL;
    return { type: 'own', sees: (node) => admits(admit, node, { address, certificate }) };
  };
}

function admits(admit: Admission, ...[node, peer]: Parameters<Admission>): boolean {
  try {
    admit(node, peer);
    return true;
  } catch {
    return false;
  }
}

/**
 * Only the two addresses themselves: proxies beside a server pass the requests of strangers on from others of that range, such as 127.0.0.6.
 */
function isLocal(address: string): boolean {
  return ['127.0.0.1', '::1', '::ffff:127.0.0.1'].includes(address);
}
