import { MeshError } from '../lib/errors.ts';
import type { Names } from '../lib/names.ts';
import type { SidecarOverlay } from './overlay.ts';
import { annotationsOf, labelsOf, NAMED_LISTS, type NamedItem, type NamedList, type PodManifest, type PodSpec } from './pod.ts';
import { type InjectionStatus, printStatus } from './status.ts';

/** Adds the configured secrets, leaving out those that the pod names itself. */
export function withPullSecrets(
  lists: SidecarOverlay['lists'],
  pod: PodManifest,
  names: readonly string[],
): SidecarOverlay['lists'] {
  const own = (pod.spec.imagePullSecrets ?? []).map((secret) => secret.name);
  const templated = lists.imagePullSecrets.map((secret) => secret.name);
  const added = new Set([...templated, ...names].filter((name) => !own.includes(name)));
  return { ...lists, imagePullSecrets: [...added].map((name) => ({ name })) };
}

/** Throws MeshError `invalid` when the pod has containers or volumes of its own with the names of injected ones. */
export function refuseCollisions(pod: PodManifest, lists: SidecarOverlay['lists'], title: string): void {
  const collisions: string[] = [];
  const check = (added: NamedList, existing: NamedList) => {
    const names = new Set((pod.spec[existing] ?? []).map((item) => item.name));
    for (const { name } of lists[added])
      if (names.has(name)) collisions.push(`spec.${existing} has its own ${JSON.stringify(name)}`);
  };
  // Names of containers are unique across both lists of them.
  check('initContainers', 'initContainers');
  check('initContainers', 'containers');
  check('containers', 'initContainers');
  check('containers', 'containers');
  check('volumes', 'volumes');
  if (collisions.length === 0) return;
  throw new MeshError('invalid', `${title}: ${collisions.join('; ')}, a name that the sidecar needs; rename it`);
}

/** The pod with the overlay and the status annotation; where both set a label, annotation or security field, the pod's own holds. */
export function addSidecar(pod: PodManifest, overlay: SidecarOverlay, names: Names, version: string): PodManifest {
  const added = (list: NamedList) => overlay.lists[list].map((item) => item.name);
  const status: InjectionStatus = {
    version,
    initContainers: added('initContainers'),
    containers: added('containers'),
    volumes: added('volumes'),
    imagePullSecrets: added('imagePullSecrets'),
  };
  const annotations = { ...overlay.annotations, ...annotationsOf(pod), [names.statusAnnotation]: printStatus(status) };
  const labels = { ...overlay.labels, ...labelsOf(pod) };
  const metadata = { ...pod.metadata, annotations, ...(Object.keys(overlay.labels).length > 0 ? { labels } : {}) };
  return { ...pod, metadata, spec: sidecarSpec(pod.spec, overlay) };
}

function sidecarSpec(spec: PodSpec, overlay: SidecarOverlay): PodSpec {
  const lists: Partial<Record<NamedList, readonly NamedItem[]>> = {};
  for (const list of NAMED_LISTS) {
    const own = spec[list] ?? [];
    const added = overlay.lists[list];
    if (added.length > 0) lists[list] = list === 'containers' ? [...added, ...own] : [...own, ...added];
  }
  const securityContext = { ...overlay.securityContext, ...spec.securityContext };
  return { ...spec, ...lists, ...(Object.keys(securityContext).length > 0 ? { securityContext } : {}) };
}
