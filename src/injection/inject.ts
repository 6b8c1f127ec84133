import { MeshError, type Problem } from '../lib/errors.ts';
import type { Names } from '../lib/names.ts';
import type { MeshConfig } from '../model/mesh-config.ts';
import { addSidecar, refuseCollisions, withPullSecrets } from './add-sidecar.ts';
import type { InjectionConfig } from './config.ts';
import { type PodNamespace, shouldInject } from './decision.ts';
import type { SidecarOverlay } from './overlay.ts';
import { overlaysOf } from './overlay-memory.ts';
import { diff, type JsonPatch } from './patch.ts';
import { annotationsOf, isNativeSidecar, labelsOf, type NamedItem, type PodManifest, type PodSpec, requirePod } from './pod.ts';
import { type Settings, settingsForPod } from './settings.ts';
import { isRecord, type JsonObject } from './shape.ts';
import { parseStatus, withoutInjected } from './status.ts';
import { moveToStatusPort, restoreFromStatusPort } from './status-port.ts';
import { compileTemplate } from './template.ts';

/** Everything that injection into any pod needs; made once per configuration, since compiling the template costs most. */
export interface InjectionContext {
  readonly names: Names;
  readonly config: InjectionConfig;
  /** What the template adds to a pod with these variables. */
  readonly overlay: (variables: JsonObject) => SidecarOverlay;
  /** Hash of the template. */
  readonly version: string;
  /** Whether the cluster is known to run native sidecars, as far as is known now. */
  readonly nativeSidecars: () => boolean;
}

export type InjectionResult =
  | { readonly type: 'injected'; readonly pod: PodManifest; readonly patch: JsonPatch; readonly reason: string }
  | { readonly type: 'skipped'; readonly reason: string };

/** User and group of the proxy, whose own traffic the redirection leaves alone. */
const PROXY_ID = 1337;

/** Compiles a configuration. `hash` gives a short text for the template's. Throws MeshError `invalid` for a bad template. */
export function injectionContext(parts: {
  readonly names: Names;
  readonly config: InjectionConfig;
  readonly mesh: MeshConfig;
  readonly hash: (text: string) => string;
  /** Default: it is not known. */
  readonly nativeSidecars?: () => boolean;
}): InjectionContext {
  const { names, config, mesh, hash, nativeSidecars = () => false } = parts;
  const overlay = overlaysOf(compileTemplate(config.template), { mesh, names: { domain: names.domain } });
  return { names, config, overlay, version: hash(config.template), nativeSidecars };
}

/**
 * Decides about a pod and adds the sidecar to it, or says why not. The pod may be a whole Pod or the `template` of a
 * workload; it is never changed itself: `patch` (RFC 6902) turns it into the `pod` of the result. What an earlier injection
 * added is replaced, so that injecting the result again yields an empty patch.
 *
 * Throws MeshError `invalid`, naming the pod: malformed pod, bad annotation, a container or volume of the pod's own with
 * the name of an injected one, a container that runs as the proxy's user.
 */
export function injectPod(manifest: unknown, namespace: PodNamespace, context: InjectionContext): InjectionResult {
  const pod = requirePod(manifest, `pod in namespace ${namespace.name}`);
  const decision = shouldInject(pod, namespace, context.config, context.names);
  if (!decision.inject) return { type: 'skipped', reason: decision.reason };
  const title = describePod(pod, namespace);
  const original = withoutEarlier(pod, context.names, title);
  const settings = checkedSettings(original, context, title);
  const overlay = context.overlay(variables(original, namespace, settings));
  const lists = withPullSecrets(overlay.lists, original, context.config.imagePullSecrets);
  refuseCollisions(original, lists, title);
  const joined = moveToStatusPort(original, lists, settings);
  const injected = addSidecar(joined.pod, { ...overlay, lists: joined.lists }, context.names, context.version);
  return { type: 'injected', pod: injected, patch: diff(pod, injected), reason: decision.reason };
}

/** `pod foo/httpbin-6d9f`, for messages; of a template, what its pods will be called or have as label `app`. */
function describePod(pod: PodManifest, namespace: PodNamespace): string {
  const { name, generateName } = pod.metadata ?? {};
  return `pod ${namespace.name}/${name ?? generateName ?? labelsOf(pod)['app'] ?? '(unnamed)'}`;
}

function withoutEarlier(pod: PodManifest, names: Names, title: string): PodManifest {
  const text = annotationsOf(pod)[names.statusAnnotation];
  if (text === undefined) return pod;
  const status = parseStatus(text, `${title}: annotation ${names.statusAnnotation}`);
  return withoutInjected(restoreFromStatusPort(pod), status);
}

function checkedSettings(pod: PodManifest, context: InjectionContext, title: string): Settings {
  const problems: Problem[] = [];
  const settings = settingsForPod(annotationsOf(pod), context.config.values, context.names, problems);
  for (const container of [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter(isNativeSidecar)]) {
    for (const [field, what] of [
      ['runAsUser', 'user'],
      ['runAsGroup', 'group'],
    ] as const) {
      if ((securityFieldOf(container, field) ?? securityFieldOf(pod.spec, field)) !== PROXY_ID) continue;
      const message = `runs as ${what} ${PROXY_ID}, the proxy's own, whose traffic is not redirected; use another ${what}`;
      problems.push({ path: `container ${container.name}`, message });
    }
  }
  if (problems.length === 0) return { ...settings, nativeSidecar: nativeSidecarFor(pod, settings, context) };
  throw new MeshError('invalid', `${title}: ${problems.map(({ path, message }) => `${path} ${message}`).join('; ')}`);
}

/**
 * A native sidecar starts before the application and ends after it, so that the network is there all the time and the pods of Jobs end: it
 * is what every pod gets where the cluster has them. A pod with one of its own shows that it does, and needs the proxy to be one too:
 * for that one's connections, and for the probes that the proxy answers in its place.
 */
function nativeSidecarFor(pod: PodManifest, { nativeSidecar }: Settings, { nativeSidecars }: InjectionContext): string {
  if (nativeSidecar !== 'auto') return nativeSidecar;
  return String(nativeSidecars() || (pod.spec.initContainers ?? []).some(isNativeSidecar));
}

function securityFieldOf(owner: PodSpec | NamedItem, field: 'runAsUser' | 'runAsGroup'): unknown {
  const context = owner['securityContext'];
  return isRecord(context) ? (context[field] ?? undefined) : undefined;
}

function variables(pod: PodManifest, namespace: PodNamespace, settings: Settings): JsonObject {
  return {
    settings,
    pod: {
      name: pod.metadata?.name ?? '',
      namespace: namespace.name,
      labels: labelsOf(pod),
      annotations: annotationsOf(pod),
      serviceAccountName: pod.spec.serviceAccountName ?? 'default',
      defaultContainer: pod.spec.containers[0]?.name ?? '',
    },
  };
}
