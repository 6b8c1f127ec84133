import type { KubeObject } from '../../src/model/object.ts';

/** An object of configuration, mesh-wide unless it says another namespace. */
export function ruleObject(kind: string, name: string, spec: unknown = {}, namespace = 'mesh-system'): KubeObject {
  return { apiVersion: 'config.mesh.io/v1alpha2', kind, metadata: { name, namespace }, spec };
}
