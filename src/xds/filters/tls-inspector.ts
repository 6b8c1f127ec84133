import { ListenerFilter } from '#gen/envoy/config/listener/v3/listener_components.ts';
import { TlsInspector } from '#gen/envoy/extensions/filters/listener/tls_inspector/v3/tls_inspector.ts';
import { pack } from '../resource.ts';

/** Tells TLS from plaintext and reads the ALPN protocols that the client offers. */
export const TLS_INSPECTOR: ListenerFilter = ListenerFilter.fromPartial({
  name: 'envoy.filters.listener.tls_inspector',
  configType: {
    $case: 'typedConfig',
    typedConfig: pack('envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector', TlsInspector, TlsInspector.create()),
  },
});
