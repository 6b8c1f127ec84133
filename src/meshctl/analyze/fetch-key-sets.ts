/** Tries the key sets that policies name, from where the command runs. */
import { type Fetch, fetchDocument } from '../../io/jwks/fetch-document.ts';
import { parseJwkSet } from '../../io/jwks/jwk-set.ts';
import { seconds } from '../../lib/duration.ts';
import { formatProblem, MeshError } from '../../lib/errors.ts';
import type { Snapshot } from '../../model/snapshot.ts';
import { allPolicies, policySubject } from './analysers/policies.ts';
import type { Finding } from './finding.ts';

/** As pilot-discovery fetches them. */
const LIMITS = { timeout: seconds(5), maxBytes: 1024 * 1024, maxRedirects: 3 } as const;
const MAX_AT_ONCE = 8;

/** MESH306: key sets that cannot be had; each address is asked once. */
export async function unreachableKeySets(snapshot: Snapshot, fetch: Fetch, signal: AbortSignal): Promise<readonly Finding[]> {
  const named = allPolicies(snapshot).flatMap((policy) =>
    policy.origins.flatMap(({ jwks }, index) =>
      jwks.type === 'uri' ? [{ policy, path: `spec.origins[${index}].jwt.jwksUri`, uri: jwks.uri }] : [],
    ),
  );
  const failures = new Map<string, string | undefined>();
  const pending = [...new Set(named.map(({ uri }) => uri))];
  const worker = async (): Promise<void> => {
    for (let uri = pending.shift(); uri !== undefined; uri = pending.shift())
      failures.set(uri, await failureOf(uri, fetch, signal));
  };
  await Promise.all(Array.from({ length: MAX_AT_ONCE }, worker));
  return named.flatMap(({ policy, path, uri }): readonly Finding[] => {
    const failure = failures.get(uri);
    return failure === undefined
      ? []
      : [{ code: 'MESH306', subject: policySubject(policy), path, message: `${path}: ${failure}` }];
  });
}

async function failureOf(uri: string, fetch: Fetch, signal: AbortSignal): Promise<string | undefined> {
  try {
    const parsed = parseJwkSet(await fetchDocument(uri, fetch, LIMITS, signal));
    return parsed.ok ? undefined : `${uri}: ${parsed.problems.map(formatProblem).join('; ')}`;
  } catch (thrown) {
    const error = MeshError.from(thrown);
    if (error.code === 'cancelled') throw error;
    return error.message;
  }
}
