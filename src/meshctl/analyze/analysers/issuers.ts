import type { Finding } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';
import { allPolicies, policySubject } from './policies.ts';

/** MESH301: issuers that no token is likely to have. */
export function issuers({ snapshot }: MeshState): readonly Finding[] {
  return allPolicies(snapshot).flatMap((policy) =>
    policy.origins.flatMap(({ issuer }, index): readonly Finding[] => {
      const reason = wrongWith(issuer);
      if (reason === undefined) return [];
      const path = `spec.origins[${index}].jwt.issuer`;
      const message = `${path}: ${JSON.stringify(issuer)} ${reason}; no token may ever match it`;
      return [{ code: 'MESH301', subject: policySubject(policy), path, message }];
    }),
  );
}

/** An issuer is a StringOrURI, compared letter by letter (RFC 7519, sections 2 and 4.1.1). */
function wrongWith(issuer: string): string | undefined {
  if (/\s/.test(issuer)) return 'has white space in it';
  if (issuer.includes(':') && !URL.canParse(issuer)) return 'has a colon and is no URI';
  if (/^https?:/i.test(issuer) && /[?#]/.test(issuer)) return 'has a query or a fragment';
  return undefined;
}
