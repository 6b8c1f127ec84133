import type { ConfigSource, Grain, ProxyNode, ResourceSet, TypeUrl } from '../delivery/ports.ts';
import type { PolledResources } from '../xds/polled.ts';
import { TYPE_URLS } from './resource-types.ts';

/** The same configuration as a proxy that polls needs it. */
export function createPolledSource(source: ConfigSource, polled: PolledResources): ConfigSource {
  return {
    get sequence() {
      return source.sequence;
    },
    onChange: (listener) => source.onChange(listener),
    prepare(node: ProxyNode, typeUrl: TypeUrl, grain: Grain): Promise<void> | undefined {
      const preparing = source.prepare?.(node, typeUrl, grain);
      return preparing ?? (typeUrl === TYPE_URLS.cluster ? source.prepare?.(node, TYPE_URLS.endpoint, grain) : undefined);
    },
    resources(node: ProxyNode, typeUrl: TypeUrl, grain: Grain): ResourceSet {
      const set = source.resources(node, typeUrl, grain);
      switch (typeUrl) {
        case TYPE_URLS.cluster:
          return polled.clusters(set, source.resources(node, TYPE_URLS.endpoint, grain));
        case TYPE_URLS.listener:
          return polled.listeners(set);
        default:
          return set;
      }
    },
  };
}
