/** Which objects of a cluster are of an installation, and which of them belong to the user once they are there. */
import type { Names } from '../../lib/names.ts';
import type { KubeObject } from '../../model/object.ts';
import { asFields } from '../../sources/store/kubernetes/received.ts';
import { CRD, installedKind, isRule } from './installed-kinds.ts';
import { INJECTION_CONFIG, MESH_CONFIG } from './options.ts';

/** Who wrote a field, as the API server keeps book of it. */
export const FIELD_MANAGER = 'meshctl';

/** Marks objects as of this installation. Definitions of kinds are of all installations, and of none. */
export function labelled(objects: readonly KubeObject[], names: Names, namespace: string): readonly KubeObject[] {
  return objects.map((object) => {
    if (installedKind(object) === CRD) return object;
    const labels = { ...object.metadata.labels, [names.installationLabel]: namespace };
    return { ...object, metadata: { ...object.metadata, labels } };
  });
}

/** Whether an object is configuration, which is the user's to edit: what they have said in it is never overwritten by force. */
export function isUserConfiguration(object: KubeObject): boolean {
  return isConfigMap(object) || isRule(object);
}

/**
 * Whether an object outlives an uninstallation: configuration does, and of the rules those that have been edited. `stored` is the object
 * as the API server has it, with its managers.
 */
export function isKeptForUser(object: KubeObject, stored: unknown): boolean {
  return isConfigMap(object) || (isRule(object) && isEdited(stored));
}

function isConfigMap({ kind, metadata }: KubeObject): boolean {
  return kind === 'ConfigMap' && [MESH_CONFIG.map, INJECTION_CONFIG.map].some((name) => name === metadata.name);
}

/**
 * Whether others than meshctl have written fields of a stored object.
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
 */
export function isEdited(stored: unknown): boolean {
  const { managedFields } = asFields(asFields(stored)['metadata']);
  return Array.isArray(managedFields) && managedFields.some((entry) => asFields(entry)['manager'] !== FIELD_MANAGER);
}
