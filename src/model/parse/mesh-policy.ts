import type { Parsed, Problem } from '../../lib/errors.ts';
import type { AuthnPolicy } from '../authn-policy.ts';
import type { KubeObject } from '../object.ts';
import { isMapping } from './object.ts';
import { type AuthenticationNames, checkTopLevel } from './policy-envelope.ts';
import { checkSpec, readSpec } from './policy-spec.ts';

/** The only name that the policy of the whole mesh may have. */
export const MESH_POLICY_NAME = 'default';

/** Parses a MeshPolicy: its defaults filled in, or everything that is wrong with it. */
export function parseMeshPolicy(object: KubeObject, names: AuthenticationNames): Parsed<AuthnPolicy> {
  const problems = [...checkTopLevel(object, 'MeshPolicy', names), ...checkMeshWide(object), ...checkSpec(object.spec)];
  if (problems.length > 0) return { ok: false, problems };
  const { name, creationTimestamp, resourceVersion } = object.metadata;
  const value: AuthnPolicy = {
    scope: 'mesh',
    name,
    namespace: '',
    creationTimestamp: creationTimestamp ?? '',
    resourceVersion: resourceVersion ?? '',
    ...readSpec(object.spec),
  };
  return { ok: true, value };
}

function checkMeshWide({ metadata, spec }: KubeObject): readonly Problem[] {
  const problems: Problem[] = [];
  if (metadata.name !== MESH_POLICY_NAME) {
    problems.push({ path: 'metadata.name', message: `the policy of the mesh must be named "${MESH_POLICY_NAME}"` });
  }
  if (isMapping(spec) && Array.isArray(spec.targets) && spec.targets.length > 0) {
    problems.push({ path: 'spec.targets', message: 'a MeshPolicy is for every service; write a Policy for some of them' });
  }
  return problems;
}
