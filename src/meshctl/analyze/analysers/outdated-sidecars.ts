import type { InjectionConfig } from '../../../injection/config.ts';
import { annotationsOf, type PodManifest, requirePod } from '../../../injection/pod.ts';
import { settingsForPod } from '../../../injection/settings.ts';
import { parseStatus } from '../../../injection/status.ts';
import { MeshError } from '../../../lib/errors.ts';
import type { KubeObject } from '../../../model/object.ts';
import { type Finding, subjectOf } from '../finding.ts';
import type { MeshState } from '../mesh-state.ts';

const PROXY_CONTAINER = 'mesh-proxy';

/** MESH702: pods whose sidecar is of an older template, or of another image, than new pods get. */
export function outdatedSidecars(state: MeshState): readonly Finding[] {
  const { injection, objects, names, hash } = state;
  if (injection?.ok !== true) return [];
  const version = hash(injection.value.template);
  return objects.pod.flatMap((object): readonly Finding[] => {
    const text = object.metadata.annotations?.[names.statusAnnotation];
    if (text === undefined) return [];
    const message = outdatedBy(object, text, version, injection.value, state);
    return message === undefined ? [] : [{ code: 'MESH702', subject: subjectOf(object), message }];
  });
}

function outdatedBy(
  object: KubeObject,
  text: string,
  version: string,
  config: InjectionConfig,
  { names }: MeshState,
): string | undefined {
  try {
    const title = `Pod ${object.metadata.namespace}/${object.metadata.name}`;
    const status = parseStatus(text, `annotation ${names.statusAnnotation}`);
    if (status.version !== version) return `was injected with template ${short(status.version)}, new pods get ${short(version)}`;
    const pod = requirePod(object, title);
    const { proxyImage } = settingsForPod(annotationsOf(pod), config.values, names, []);
    const image = proxyImageOf(pod);
    return image === undefined || image === proxyImage ? undefined : `runs the proxy image ${image}, new pods get ${proxyImage}`;
  } catch (thrown) {
    return MeshError.from(thrown).message;
  }
}

function proxyImageOf({ spec }: PodManifest): string | undefined {
  const container = [...spec.containers, ...(spec.initContainers ?? [])].find(({ name }) => name === PROXY_CONTAINER);
  return typeof container?.['image'] === 'string' ? container['image'] : undefined;
}

const short = (version: string): string => version.slice(0, 12);
