import type { KubeObject } from '../../model/object.ts';
import { Fields } from '../kubelet/fields.ts';

/** What the controllers look at in a Service object. */
export interface ServiceView {
  readonly object: KubeObject;
  readonly namespace: string;
  readonly name: string;
  /** Absent: somebody else writes the endpoints. */
  readonly selector: Readonly<Record<string, string>> | undefined;
  /** Undefined until one is allocated; `None` for a headless service. */
  readonly clusterIp: string | undefined;
  readonly isExternalName: boolean;
  readonly publishNotReady: boolean;
  readonly ports: readonly ServicePortView[];
}

export interface ServicePortView {
  readonly name: string;
  readonly port: number;
  readonly targetPort: number | string;
  readonly protocol: string;
  readonly appProtocol: string | undefined;
}

export function serviceView(object: KubeObject): ServiceView {
  const spec = new Fields(object['spec'], 'spec', []);
  return {
    object,
    namespace: object.metadata.namespace ?? 'default',
    name: object.metadata.name,
    selector: spec.has('selector') ? spec.stringMap('selector') : undefined,
    clusterIp: spec.string('clusterIP') || undefined,
    isExternalName: spec.string('type') === 'ExternalName',
    publishNotReady: spec.boolean('publishNotReadyAddresses') ?? false,
    ports: spec.list('ports').map((port) => ({
      name: port.string('name') ?? '',
      port: port.integer('port') ?? 0,
      targetPort: port.port('targetPort') ?? port.integer('port') ?? 0,
      protocol: port.string('protocol') ?? 'TCP',
      appProtocol: port.string('appProtocol'),
    })),
  };
}
