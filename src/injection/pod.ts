import { MeshError, type Problem } from '../lib/errors.ts';
import { isRecord, isRecordList, isStringMap, type JsonObject, type Labels } from './shape.ts';

/** A container, volume or image pull secret: lists of the pod whose items are known by their name. */
export interface NamedItem extends JsonObject {
  readonly name: string;
}

/**
 * The parts of a Pod, or of the template of one, that injection reads; everything else passes through untouched. `null`
 * is what YAML says for a field without a value, and counts as absent.
 */
export interface PodManifest extends JsonObject {
  readonly metadata?: PodMetadata | null;
  readonly spec: PodSpec;
}

export interface PodMetadata extends JsonObject {
  readonly name?: string;
  readonly generateName?: string;
  readonly labels?: Labels | null;
  readonly annotations?: Labels | null;
}

export interface PodSpec extends JsonObject {
  readonly containers: readonly NamedItem[];
  readonly initContainers?: readonly NamedItem[] | null;
  readonly volumes?: readonly NamedItem[] | null;
  readonly imagePullSecrets?: readonly NamedItem[] | null;
  readonly securityContext?: JsonObject | null;
  readonly serviceAccountName?: string;
  readonly hostNetwork?: boolean;
}

/** The lists of a pod that injection adds to. */
export const NAMED_LISTS = ['initContainers', 'containers', 'volumes', 'imagePullSecrets'] as const;
export type NamedList = (typeof NAMED_LISTS)[number];

/** Checks the parts that injection reads. Throws MeshError `invalid` with every problem, naming the pod. */
export function requirePod(value: unknown, title: string): PodManifest {
  const problems: Problem[] = [];
  if (!isRecord(value)) throw new MeshError('invalid', `${title}: must be an object with metadata and spec`);
  checkMetadata(value['metadata'], problems);
  checkSpec(value['spec'], problems);
  if (problems.length === 0) return value as unknown as PodManifest;
  throw new MeshError('invalid', `${title}: ${problems.map(({ path, message }) => `${path} ${message}`).join('; ')}`);
}

function checkMetadata(metadata: unknown, problems: Problem[]): void {
  if (metadata === undefined || metadata === null) return;
  if (!isRecord(metadata)) {
    problems.push({ path: 'metadata', message: 'must be an object' });
    return;
  }
  for (const field of ['labels', 'annotations']) {
    const map = metadata[field] ?? {};
    if (!isStringMap(map))
      problems.push({ path: `metadata.${field}`, message: 'must map names to texts (quote numbers and booleans)' });
  }
  for (const field of ['name', 'generateName']) {
    if (typeof (metadata[field] ?? '') !== 'string') problems.push({ path: `metadata.${field}`, message: 'must be a text' });
  }
}

function checkSpec(spec: unknown, problems: Problem[]): void {
  if (!isRecord(spec)) {
    problems.push({ path: 'spec', message: 'must be an object' });
    return;
  }
  for (const list of NAMED_LISTS) {
    const items = spec[list] ?? [];
    if (!isRecordList(items) || !items.every((item) => typeof item['name'] === 'string')) {
      problems.push({ path: `spec.${list}`, message: 'must be a list of objects with a name' });
    }
  }
  if (!Array.isArray(spec['containers'])) problems.push({ path: 'spec.containers', message: 'must be there' });
  if (!isRecord(spec['securityContext'] ?? {})) problems.push({ path: 'spec.securityContext', message: 'must be an object' });
  if (typeof (spec['hostNetwork'] ?? false) !== 'boolean')
    problems.push({ path: 'spec.hostNetwork', message: 'must be true or false' });
  if (typeof (spec['serviceAccountName'] ?? '') !== 'string') {
    problems.push({ path: 'spec.serviceAccountName', message: 'must be a text' });
  }
}

/**
 * Whether an init container runs on beside the others.
 * https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/
 */
export function isNativeSidecar(initContainer: NamedItem): boolean {
  return initContainer['restartPolicy'] === 'Always';
}

export function labelsOf(pod: PodManifest): Labels {
  return pod.metadata?.labels ?? {};
}

export function annotationsOf(pod: PodManifest): Labels {
  return pod.metadata?.annotations ?? {};
}
