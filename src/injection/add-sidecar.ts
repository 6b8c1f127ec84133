import { MeshError } from '../lib/errors.ts';
import type { Names } from '../lib/names.ts';
import type { SidecarOverlay } from './overlay.ts';
import {
  annotationsOf,
  isNativeSidecar,
  labelsOf,
  NAMED_LISTS,
  type NamedItem,
  type NamedList,
  type PodManifest,
  type PodSpec,
} from './pod.ts';
import type { JsonObject } from './shape.ts';
import { type InjectedFields, missing, printStatus } from './status.ts';

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
  const { lists } = overlay;
  const added = (list: NamedList) => lists[list].map((item) => item.name);
  const fields: InjectedFields = {
    annotations: missing(annotationsOf(pod), overlay.annotations),
    labels: missing(labelsOf(pod), overlay.labels),
    securityContext: missing(pod.spec.securityContext ?? {}, overlay.securityContext),
  };
  const status = printStatus({
    version,
    lists: {
      initContainers: added('initContainers'),
      containers: added('containers'),
      volumes: added('volumes'),
      imagePullSecrets: added('imagePullSecrets'),
    },
    fields,
  });
  const annotations = { ...fields.annotations, ...annotationsOf(pod), [names.statusAnnotation]: status };
  const labels = { ...fields.labels, ...labelsOf(pod) };
  const metadata = { ...pod.metadata, annotations, ...(Object.keys(fields.labels).length > 0 ? { labels } : {}) };
  return { ...pod, metadata, spec: sidecarSpec(pod.spec, lists, fields.securityContext) };
}

function sidecarSpec(spec: PodSpec, lists: SidecarOverlay['lists'], added: JsonObject): PodSpec {
  const joined: Partial<Record<NamedList, readonly NamedItem[]>> = {};
  for (const list of NAMED_LISTS) {
    const own = spec[list] ?? [];
    if (lists[list].length > 0)
      joined[list] = comesFirst(list, lists[list]) ? [...lists[list], ...own] : [...own, ...lists[list]];
  }
  const securityContext = { ...added, ...spec.securityContext };
  return { ...spec, ...joined, ...(Object.keys(securityContext).length > 0 ? { securityContext } : {}) };
}

/**
 * The kubelet starts containers in order and stops native sidecars in the opposite one: a proxy that comes first serves all
 * others, the pod's own init containers too. Without such a proxy, init containers come before the redirection to it, or they would
 * have no network.
 */
function comesFirst(list: NamedList, added: readonly NamedItem[]): boolean {
  return list === 'containers' || (list === 'initContainers' && added.some(isNativeSidecar));
}
