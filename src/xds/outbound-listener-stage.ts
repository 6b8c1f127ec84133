import { Listener } from '#gen/envoy/config/listener/v3/listener.ts';
import type { MeshConfig } from '../model/mesh-config.ts';
import type { Encoder } from './encoder.ts';
import type { Families } from './node.ts';
import { buildAddressListener, buildHttpListener, buildVirtualOutbound, listenerName } from './outbound-listener.ts';
import type { OutboundPlan } from './outbound-plan.ts';
import { buildTlsListener } from './outbound-tls.ts';
import type { EncodedResource } from './resource.ts';

interface Made {
  readonly mesh: MeshConfig;
  /** What a listener is made from, as text. */
  readonly from: string;
  readonly resource: EncodedResource;
}

interface Answer {
  readonly mesh: MeshConfig;
  readonly plan: OutboundPlan;
  readonly listeners: readonly EncodedResource[];
}

/** The listeners for requests that leave a workload: the same for every proxy with addresses of the same families. */
export function createOutboundListenerStage(
  encoder: Encoder,
): (mesh: MeshConfig, plan: OutboundPlan, families: Families) => readonly EncodedResource[] {
  const answers = new Map<Families, Answer>();
  const kept = new Map<Families, ReadonlyMap<string, Made>>();

  const build = (mesh: MeshConfig, plan: OutboundPlan, families: Families): readonly EncodedResource[] => {
    const before = kept.get(families);
    const after = new Map<string, Made>();
    const make = (name: string, from: string, listener: () => Listener): EncodedResource => {
      const made = before?.get(name);
      const resource =
        made?.mesh === mesh && made.from === from
          ? made.resource
          : encoder.resource(name, Listener.encode(listener()).finish(), made?.resource);
      after.set(name, { mesh, from, resource });
      return resource;
    };
    const virtual = buildVirtualOutbound(mesh, families);
    const addresses = plan.addresses.filter(({ family }) => families === 'dual' || families === family);
    const listeners = [
      make(virtual.name, '', () => virtual),
      ...[...plan.http.keys()].map((port) => make(`0.0.0.0_${port}`, '', () => buildHttpListener(mesh, families, port))),
      ...[...plan.tls].map(([port, services]) =>
        make(`0.0.0.0_${port}`, JSON.stringify(services.map(({ service, serverNames }) => [service.hostname, serverNames])), () =>
          buildTlsListener(mesh, families, port, services),
        ),
      ),
      ...addresses.map((listener) =>
        make(listenerName(listener.address, listener.port), JSON.stringify(listener), () => buildAddressListener(mesh, listener)),
      ),
    ];
    kept.set(families, after);
    return listeners;
  };

  return (mesh, plan, families) => {
    const answer = answers.get(families);
    if (answer?.mesh === mesh && answer.plan === plan) return answer.listeners;
    const listeners = build(mesh, plan, families);
    answers.set(families, { mesh, plan, listeners });
    return listeners;
  };
}
