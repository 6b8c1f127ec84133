import { randomUUID } from 'node:crypto';
import { MeshError } from '../lib/errors.ts';
import type { Cluster } from './cluster.ts';
import { NODE_NAME } from './kubelet/pod-fields.ts';
import type { NodeRuntime } from './kubelet/runtime.ts';
import { renewAfter, type TokenSubject, tokenClaims } from './kubelet/token.ts';
import type { TokenIssuer } from './token-issuer.ts';

/** Tokens that the lab signs itself. A pod gets the same token again until it is time to renew it. */
export function issuedTokens(cluster: Cluster, issuer: TokenIssuer, clock: () => Date): NodeRuntime['token'] {
  const issued = new Map<string, { readonly token: string; readonly renewAt: number }>();
  return async (subject, account, audience, lifetime) => {
    const object = cluster.find('serviceAccount', subject.namespace, account);
    const uid = object?.metadata.uid;
    if (uid === undefined) throw new MeshError('not_found', `ServiceAccount ${subject.namespace}/${account} does not exist`);
    const now = clock();
    const key = JSON.stringify([subject.pod.uid, uid, audience, lifetime]);
    const known = issued.get(key);
    if (known !== undefined && now.getTime() < known.renewAt) return known.token;
    const full: TokenSubject = { ...subject, serviceAccount: { name: account, uid } };
    const claims = tokenClaims({
      issuer: issuer.issuer,
      subject: full,
      audience,
      lifetime,
      now,
      id: randomUUID(),
      node: NODE_NAME,
    });
    const token = await issuer.sign(claims);
    for (const [other, { renewAt }] of issued) if (renewAt <= now.getTime()) issued.delete(other);
    issued.set(key, { token, renewAt: now.getTime() + renewAfter(lifetime) });
    return token;
  };
}
