import { Listener } from '#gen/envoy/config/listener/v3/listener.ts';
import type { MeshConfig } from '../model/mesh-config.ts';
import type { Encoder } from './encoder.ts';
import {
  buildAddressListener,
  buildHttpListener,
  buildVirtualOutbound,
  listenerName,
  type OutboundVariant,
} from './outbound-listener.ts';
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

/** The listeners for requests that leave a workload: the same for every proxy of one variant. */
export function createOutboundListenerStage(
  encoder: Encoder,
): (mesh: MeshConfig, plan: OutboundPlan, variant: OutboundVariant) => readonly EncodedResource[] {
  const answers = new Map<string, Answer>();
  const kept = new Map<string, ReadonlyMap<string, Made>>();

  const build = (mesh: MeshConfig, plan: OutboundPlan, variant: OutboundVariant): readonly EncodedResource[] => {
    const { families } = variant;
    const before = kept.get(keyOf(variant));
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
    const virtual = buildVirtualOutbound(mesh, variant);
    const addresses = plan.addresses.filter(({ family }) => families === 'dual' || families === family);
    const listeners = [
      make(virtual.name, '', () => virtual),
      ...[...plan.http.keys()].map((port) => make(`0.0.0.0_${port}`, '', () => buildHttpListener(mesh, variant, port))),
      ...[...plan.tls].map(([port, services]) =>
        make(`0.0.0.0_${port}`, JSON.stringify(services.map(({ service, serverNames }) => [service.hostname, serverNames])), () =>
          buildTlsListener(mesh, variant, port, services),
        ),
      ),
      ...addresses.map((listener) =>
        make(listenerName(listener.address, listener.port), JSON.stringify(listener), () =>
          buildAddressListener(mesh, variant, listener),
        ),
      ),
    ];
    kept.set(keyOf(variant), after);
    return listeners;
  };

  return (mesh, plan, variant) => {
    const answer = answers.get(keyOf(variant));
    if (answer?.mesh === mesh && answer.plan === plan) return answer.listeners;
    const listeners = build(mesh, plan, variant);
    answers.set(keyOf(variant), { mesh, plan, listeners });
    return listeners;
  };
}

const keyOf = ({ families, reports }: OutboundVariant): string => `${families} ${reports}`;
