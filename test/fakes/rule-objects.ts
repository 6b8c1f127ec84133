import type { KubeObject } from '../../src/model/object.ts';

/** A ServiceRole or a ServiceRoleBinding. */
export function roleObject(
  kind: 'ServiceRole' | 'ServiceRoleBinding',
  name: string,
  spec: unknown,
  namespace = 'foo',
): KubeObject {
  return { apiVersion: 'rbac.mesh.io/v1alpha1', kind, metadata: { name, namespace }, spec };
}

/** An object of configuration, mesh-wide unless it says another namespace. */
export function ruleObject(kind: string, name: string, spec: unknown = {}, namespace = 'mesh-system'): KubeObject {
  return { apiVersion: 'config.mesh.io/v1alpha2', kind, metadata: { name, namespace }, spec };
}
