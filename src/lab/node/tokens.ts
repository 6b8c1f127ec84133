import { milliseconds } from '../../lib/duration.ts';
import type { NodeRuntime } from '../kubelet/runtime.ts';
import { renewAfter } from '../kubelet/token.ts';
import type { NodeApi, Token } from './node-api.ts';

/** Tokens from the API server; a pod gets the same one again until it is time to renew it. */
export function requestedTokens(api: Pick<NodeApi, 'requestToken'>, now: () => Date): NodeRuntime['token'] {
  const issued = new Map<string, Token & { readonly renewAt: number }>();
  return async (subject, account, audience, lifetime) => {
    const key = JSON.stringify([subject.pod.uid, account, audience, lifetime]);
    const begun = now().getTime();
    const known = issued.get(key);
    if (known !== undefined && begun < known.renewAt) return known.token;
    const token = await api.requestToken(subject, account, audience, lifetime);
    for (const [other, { renewAt }] of issued) if (renewAt <= begun) issued.delete(other);
    // The server may grant less than was asked for.
    const granted = milliseconds(Math.min(lifetime, token.expires.getTime() - begun));
    issued.set(key, { ...token, renewAt: begun + renewAfter(granted) });
    return token.token;
  };
}
