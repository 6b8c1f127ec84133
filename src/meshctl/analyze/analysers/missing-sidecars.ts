import type { InjectionConfig } from '../../../injection/config.ts';
import { type PodNamespace, shouldInject } from '../../../injection/decision.ts';
import { annotationsOf, requirePod } from '../../../injection/pod.ts';
import { MeshError, type Parsed } from '../../../lib/errors.ts';
import type { KubeObject } from '../../../model/object.ts';
import { isMapping } from '../../../model/parse/object.ts';
import { type Finding, subjectOf } from '../finding.ts';
import { builtInConfig, injectionLabels, type MeshState } from '../mesh-state.ts';

/** MESH701, MESH704: pods that should have a sidecar and have none, and those that cannot have one. */
export function missingSidecars(state: MeshState): readonly Finding[] {
  const config = configOf(state.injection);
  return state.objects.pod.filter(isAlive).flatMap((pod) => findingOf(pod, config, state));
}

function configOf(injection: Parsed<InjectionConfig> | undefined): InjectionConfig {
  return injection?.ok === true ? injection.value : builtInConfig();
}

function isAlive({ metadata, status }: KubeObject): boolean {
  const phase = isMapping(status) ? status.phase : undefined;
  return metadata.deletionTimestamp === undefined && phase !== 'Succeeded' && phase !== 'Failed';
}

function findingOf(
  object: KubeObject,
  config: InjectionConfig,
  { objects, names, rootNamespace }: MeshState,
): readonly Finding[] {
  const { namespace = 'default' } = object.metadata;
  const labels = injectionLabels(object, objects.namespace, rootNamespace);
  const chosen: PodNamespace = { name: namespace, chosen: { by: 'labels', labels } };
  try {
    const pod = requirePod(object, `Pod ${namespace}/${object.metadata.name}`);
    if (annotationsOf(pod)[names.statusAnnotation] !== undefined) return [];
    const { inject, reason } = shouldInject(pod, chosen, config, names);
    const subject = subjectOf(object);
    const labelled = namespace === rootNamespace ? 'it is' : 'its namespace is';
    if (inject) return [{ code: 'MESH701', subject, message: `has no sidecar, though ${labelled} labelled and ${reason}` }];
    const inHostNetwork =
      pod.spec.hostNetwork === true &&
      shouldInject({ ...pod, spec: { ...pod.spec, hostNetwork: false } }, chosen, config, names).inject;
    return inHostNetwork
      ? [{ code: 'MESH704', subject, message: `${reason}, so it has no sidecar in a namespace of the mesh` }]
      : [];
  } catch (thrown) {
    return [{ code: 'MESH102', subject: subjectOf(object), message: MeshError.from(thrown).message }];
  }
}
