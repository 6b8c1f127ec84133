import { ListenerFilter } from '#gen/envoy/config/listener/v3/listener_components.ts';
import { OriginalDst } from '#gen/envoy/extensions/filters/listener/original_dst/v3/original_dst.ts';
import { pack } from '../resource.ts';

/** Restores the address that the redirection replaced. */
export const ORIGINAL_DST: ListenerFilter = ListenerFilter.fromPartial({
  name: 'envoy.filters.listener.original_dst',
  configType: {
    $case: 'typedConfig',
    typedConfig: pack('envoy.extensions.filters.listener.original_dst.v3.OriginalDst', OriginalDst, OriginalDst.create()),
  },
});
