import { kindsFor } from '../../../model/kinds.ts';
import type { Finding } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';

/** MESH104: the API server does not know the kinds of the mesh. */
export function missingKinds({ unserved, names }: MeshState): readonly Finding[] {
  const kinds = kindsFor(names);
  return unserved.map((name): Finding => {
    const kind = kinds[name];
    const subject = { kind: 'CustomResourceDefinition', name: `${kind.plural}.${names.authentication.group}` };
    return { code: 'MESH104', subject, message: `the API server does not serve ${kind.kind} of ${kind.apiVersion}` };
  });
}
