import { NAMESPACE_LABEL, NAMESPACE_LABEL_VALUE } from '../../../injection/decision.ts';
import { nearest } from '../../../lib/nearest.ts';
import type { KubeObject } from '../../../model/object.ts';
import { type Finding, subjectOf } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';

const DISABLED = 'disabled';
/** What labels of other meshes, and of namespaces' owners, look like. */
const MEANT = /^(?:[a-z]+[-_.])?(?:sidecar[-_.]?)?inject(?:ion|or)?$/i;
const YES: readonly string[] = ['true', 'yes', 'on', 'y', '1', 'enable', 'enabled'];

/** MESH703: namespaces that ask for sidecars in words that nobody hears. */
export function namespaceLabels({ objects }: MeshState): readonly Finding[] {
  return objects.namespace.flatMap((namespace) => {
    const message = misspelling(namespace);
    return message === undefined
      ? []
      : [{ code: 'MESH703', subject: subjectOf(namespace), path: 'metadata.labels', message } as const];
  });
}

function misspelling({ metadata }: KubeObject): string | undefined {
  const { labels = {} } = metadata;
  const value = labels[NAMESPACE_LABEL];
  const right = `${NAMESPACE_LABEL}=${NAMESPACE_LABEL_VALUE}`;
  if (value !== undefined) {
    if (value === NAMESPACE_LABEL_VALUE || value === DISABLED) return undefined;
    return `the label ${NAMESPACE_LABEL}=${value} does not turn injection on; ${right} does`;
  }
  const near = Object.entries(labels).find(([name, text]) => isNear(name) && YES.includes(text.toLowerCase()));
  return near === undefined ? undefined : `the label ${near[0]}=${near[1]} does not turn injection on; ${right} does`;
}

function isNear(name: string): boolean {
  return nearest(name, [NAMESPACE_LABEL]) !== undefined || MEANT.test(name);
}
