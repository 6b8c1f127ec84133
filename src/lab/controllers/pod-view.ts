import type { KubeObject } from '../../model/object.ts';
import { Fields, isRecord } from '../kubelet/fields.ts';

/** What the controllers look at in a Pod object. */
export interface PodView {
  readonly object: KubeObject;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly podIp: string | undefined;
  readonly phase: string | undefined;
  readonly ready: boolean;
  readonly ports: readonly { readonly name: string | undefined; readonly number: number; readonly protocol: string }[];
}

export function podView(object: KubeObject): PodView {
  const status = new Fields(object['status'], 'status', []);
  const spec = new Fields(object['spec'], 'spec', []);
  return {
    object,
    namespace: object.metadata.namespace ?? 'default',
    name: object.metadata.name,
    labels: object.metadata.labels ?? {},
    podIp: status.string('podIP'),
    phase: status.string('phase'),
    ready: status
      .list('conditions')
      .some((condition) => condition.string('type') === 'Ready' && condition.string('status') === 'True'),
    ports: spec.list('containers').flatMap((container) =>
      container.list('ports').map((port) => ({
        name: port.string('name'),
        number: port.integer('containerPort') ?? 0,
        protocol: port.string('protocol') ?? 'TCP',
      })),
    ),
  };
}

/** Whether a pod has ended for good. */
export function isOver(pod: PodView): boolean {
  return pod.phase === 'Succeeded' || pod.phase === 'Failed';
}

export function isOwnedBy(object: KubeObject, owner: KubeObject): boolean {
  return (object.metadata.ownerReferences ?? []).some(({ uid }) => uid === owner.metadata.uid);
}

/** A map of strings, as labels are; what else there is is left out. */
export function stringMapOf(value: unknown): Readonly<Record<string, string>> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(Object.entries(value).flatMap(([key, text]) => (typeof text === 'string' ? [[key, text]] : [])));
}
