import { formatProblem } from '../../../lib/errors.ts';
import { type Finding, subjectOf } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';

/** MESH101, MESH102: objects that do not parse. A policy is missed by whoever wrote it, another object by nobody but its callers. */
export function invalidObjects({ unusable }: MeshState): readonly Finding[] {
  return unusable.flatMap(({ object, problem }): readonly Finding[] => {
    // The mesh configuration has a code of its own, and a service of a type that is not proxied is no mistake.
    if (object.kind === 'ConfigMap' || problem.path === 'spec.type') return [];
    const code = object.kind === 'Policy' || object.kind === 'MeshPolicy' ? 'MESH101' : 'MESH102';
    return [{ code, subject: subjectOf(object), path: problem.path, message: formatProblem(problem) }];
  });
}
