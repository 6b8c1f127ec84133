import type { Duration } from '../../lib/duration.ts';

/** Whom a token speaks for. */
export interface TokenSubject {
  readonly namespace: string;
  readonly serviceAccount: { readonly name: string; readonly uid: string };
  readonly pod: { readonly name: string; readonly uid: string };
}

/** The claims of a service account token, as the TokenRequest API of Kubernetes issues them. */
export interface TokenClaims {
  readonly iss: string;
  readonly sub: string;
  readonly aud: readonly string[];
  readonly iat: number;
  readonly nbf: number;
  readonly exp: number;
  readonly jti: string;
  readonly 'kubernetes.io': {
    readonly namespace: string;
    readonly node: { readonly name: string };
    readonly pod: { readonly name: string; readonly uid: string };
    readonly serviceaccount: { readonly name: string; readonly uid: string };
  };
}

export interface TokenRequest {
  readonly issuer: string;
  readonly subject: TokenSubject;
  readonly audience: string;
  readonly lifetime: Duration;
  readonly now: Date;
  readonly id: string;
  readonly node: string;
}

export function tokenClaims({ issuer, subject, audience, lifetime, now, id, node }: TokenRequest): TokenClaims {
  const issued = Math.floor(now.getTime() / 1_000);
  return {
    iss: issuer,
    sub: `system:serviceaccount:${subject.namespace}:${subject.serviceAccount.name}`,
    aud: [audience],
    iat: issued,
    nbf: issued,
    exp: issued + Math.floor(lifetime / 1_000),
    jti: id,
    'kubernetes.io': {
      namespace: subject.namespace,
      node: { name: node },
      pod: subject.pod,
      serviceaccount: subject.serviceAccount,
    },
  };
}

/** The kubelet renews a token when a fifth of its life is left, or after a day. */
export function renewAfter(lifetime: Duration): Duration {
  return Math.min(lifetime * 0.8, 24 * 3_600_000) as Duration;
}
