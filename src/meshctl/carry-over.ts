import type { KubeObject } from '../model/object.ts';
import { isMapping } from '../model/parse/object.ts';

/**
 * What a new manifest takes over from the stored object, as an API server does on update: what controllers wrote and manifests do
 * not say. That is the status, the owners, and the address that a Service was given.
 */
export function carryOver(manifest: KubeObject, stored: KubeObject): KubeObject {
  const { ownerReferences } = stored.metadata;
  const owners = manifest.metadata.ownerReferences === undefined && ownerReferences !== undefined ? { ownerReferences } : {};
  return {
    ...manifest,
    metadata: { ...manifest.metadata, ...owners },
    ...(manifest.kind === 'Service' ? { spec: withAddresses(manifest.spec, stored.spec) } : {}),
    ...(manifest.status === undefined && stored.status !== undefined ? { status: stored.status } : {}),
  };
}

function withAddresses(spec: unknown, stored: unknown): unknown {
  if (!isMapping(spec) || !isMapping(stored) || spec.type === 'ExternalName') return spec;
  const kept = ['clusterIP', 'clusterIPs'].filter((field) => spec[field] === undefined && stored[field] !== undefined);
  if (spec.clusterIP !== undefined && spec.clusterIP !== stored.clusterIP) return spec;
  return { ...spec, ...Object.fromEntries(kept.map((field) => [field, stored[field]])) };
}
