import { parseJwkSet } from '../../../io/jwks/jwk-set.ts';
import { formatProblem } from '../../../lib/errors.ts';
import { isMapping } from '../../../model/parse/object.ts';
import type { Finding } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';
import { allPolicies, policySubject } from './policies.ts';

/** Members of private and symmetric keys (RFC 7518, section 6). */
const PRIVATE_MEMBERS: readonly string[] = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/** MESH304, MESH305: key sets that stand in the policy itself. */
export function inlineKeys({ snapshot }: MeshState): readonly Finding[] {
  return allPolicies(snapshot).flatMap((policy) =>
    policy.origins.flatMap(({ jwks }, index): readonly Finding[] => {
      if (jwks.type !== 'inline') return [];
      const path = `spec.origins[${index}].jwt.jwks`;
      const subject = policySubject(policy);
      const parsed = parseJwkSet(jwks.jwks);
      const unusable = parsed.ok ? [] : parsed.problems;
      return [
        ...unusable.map(
          (problem): Finding => ({ code: 'MESH304', subject, path, message: `${path}: ${formatProblem(problem)}` }),
        ),
        ...privateKeys(jwks.jwks).map(
          (name): Finding => ({
            code: 'MESH305',
            subject,
            path,
            message: `${path}: key ${name} is private; whoever reads the policy can sign tokens`,
          }),
        ),
      ];
    }),
  );
}

/** Names of the keys that say more than they should. */
function privateKeys(text: string): readonly string[] {
  const document = parseJson(text);
  const keys = isMapping(document) && Array.isArray(document.keys) ? (document.keys as readonly unknown[]) : [];
  return keys.flatMap((key, index) => {
    if (!isMapping(key) || !PRIVATE_MEMBERS.some((member) => key[member] !== undefined)) return [];
    return [typeof key.kid === 'string' ? JSON.stringify(key.kid) : `${index}`];
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
