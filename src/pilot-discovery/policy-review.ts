/** What a schema cannot say about a policy, said to whoever asks the API server to store it. */
import { isDeepStrictEqual } from 'node:util';
import type { AdmissionRequest, Verdict } from '../io/admission/review.ts';
import { formatProblem, type Parsed, type Problem } from '../lib/errors.ts';
import type { Names } from '../lib/names.ts';
import type { AuthnPolicy } from '../model/authn-policy.ts';
import { kindsFor } from '../model/kinds.ts';
import type { KubeObject } from '../model/object.ts';
import { parseMeshPolicy } from '../model/parse/mesh-policy.ts';
import { isMapping, parseObject } from '../model/parse/object.ts';
import { parsePolicy, policyWarnings } from '../model/parse/policy.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { newConflicts } from '../policy/change.ts';
import { problemsOfPolicy } from '../policy/problems.ts';

export interface PolicyReviewDeps {
  readonly names: Names;
  /** The policies as they are stored right now. */
  readonly stored: () => readonly AuthnPolicy[];
  /** The services, for names of ports and for warnings; undefined: nothing has been read yet. */
  readonly snapshot: () => Snapshot | undefined;
}

const ALLOWED: Verdict = { type: 'unchanged' };

/**
 * Decides as `meshctl create` does on files, by the same parsers; conflicts, which files only get a warning of, are refused, because a
 * cluster can. What nobody changes is never in the way: other fields of a policy that is bad already can be changed.
 */
export function createPolicyReview({ names, stored, snapshot }: PolicyReviewDeps): (request: AdmissionRequest) => Verdict {
  const kinds = kindsFor(names);
  const { group } = names.authentication;

  function parse(object: KubeObject): Parsed<AuthnPolicy> {
    return object.kind === kinds.meshPolicy.kind ? parseMeshPolicy(object, names) : parsePolicy(object, names);
  }

  function read(value: unknown): Parsed<AuthnPolicy> {
    const found = parseObject(value, kinds);
    return found.ok ? parse(found.value.object) : found;
  }

  const portNumber = (namespace: string, service: string, port: string): number | undefined => {
    const current = snapshot();
    const found = current?.servicesByHostname.get(`${service}.${namespace}.svc.${current.domain}`);
    return found?.ports.find((candidate) => candidate.name === port)?.number;
  };

  function decide({ object, oldObject, operation }: AdmissionRequest): Verdict {
    const parsed = read(object);
    if (!parsed.ok) return denied(parsed.problems);
    const before = oldObject === undefined ? undefined : read(oldObject);
    // Who is created now is younger than whoever is stored, in the same second too.
    const policy = operation === 'CREATE' ? { ...parsed.value, creationTimestamp: '' } : parsed.value;
    const change = { policy, before: before?.ok ? before.value : undefined, stored: stored() };
    const conflicts = newConflicts(change, portNumber);
    if (conflicts.length > 0) return denied(conflicts.map(({ message }) => ({ path: '', message })));
    const current = snapshot();
    const advice = [
      ...policyWarnings(policy).map(formatProblem),
      ...(current === undefined ? [] : problemsOfPolicy(current, policy).map(({ message }) => message)),
    ];
    return { type: 'unchanged', warnings: advice };
  }

  return (request) => {
    const isPolicy = [kinds.policy, kinds.meshPolicy].some(({ kind }) => request.kind === `${kind}.${group}`);
    const isChange = request.operation === 'CREATE' || (request.operation === 'UPDATE' && saysOtherwise(request));
    return isPolicy && isChange ? decide(request) : ALLOWED;
  };
}

/** Labels, finalizers and the like must always be taken: without them nothing could be deleted. */
function saysOtherwise({ object, oldObject }: AdmissionRequest): boolean {
  const specOf = (value: unknown): unknown => (isMapping(value) ? value['spec'] : undefined);
  return !isDeepStrictEqual(specOf(object), specOf(oldObject));
}

function denied(problems: readonly Problem[]): Verdict {
  return { type: 'denied', message: problems.map(formatProblem).join('; '), code: 400 };
}
