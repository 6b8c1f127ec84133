/** Which objects of a cluster are of an installation, and which of them belong to the user once they are there. */
import type { Names } from '../../lib/names.ts';
import type { KubeObject } from '../../model/object.ts';
import { CRD, installedKind } from './installed-kinds.ts';
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

/** Whether an object is configuration, which is the user's to edit: it is never overwritten by force, and outlives an uninstallation. */
export function isUserConfiguration({ kind, metadata }: KubeObject): boolean {
  return kind === 'ConfigMap' && [MESH_CONFIG.map, INJECTION_CONFIG.map].some((name) => name === metadata.name);
}
