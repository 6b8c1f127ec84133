import { isHttp, isProxied } from '../../../model/protocol.ts';
import { describeService } from '../../../model/service.ts';
import { resolveAuthn } from '../../../policy/resolve.ts';
import type { Finding } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';
import { policySubject } from './policies.ts';

/** MESH206, MESH210: ports on which a policy cannot do what it says. */
export function tokenPorts({ snapshot }: MeshState): readonly Finding[] {
  return snapshot.services.flatMap((service) =>
    service.ports.flatMap((port): readonly Finding[] => {
      const { decidedBy, origins } = resolveAuthn(snapshot, service, port, undefined);
      if (decidedBy.type !== 'policy' || isHttp(port.protocol)) return [];
      const subject = policySubject(decidedBy.policy);
      const place = `port ${port.number} of ${describeService(service)}`;
      if (!isProxied(port.protocol)) {
        const targeted = decidedBy.level === 'port';
        return targeted ? [{ code: 'MESH210', subject, message: `${place} is UDP, which is not proxied` }] : [];
      }
      if (origins.type === 'none' || origins.type === 'refused') return [];
      const consequence = origins.type === 'optional' ? 'they are not checked' : 'every connection is refused';
      const message = `${place} speaks ${port.protocol}, in which there are no tokens, so ${consequence}`;
      return [{ code: 'MESH206', subject, message }];
    }),
  );
}
