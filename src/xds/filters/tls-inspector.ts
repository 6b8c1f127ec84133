import { ListenerFilter, ListenerFilterChainMatchPredicate } from '#gen/envoy/config/listener/v3/listener_components.ts';
import { TlsInspector } from '#gen/envoy/extensions/filters/listener/tls_inspector/v3/tls_inspector.ts';
import { pack } from '../resource.ts';

/**
 * Tells TLS from plaintext and reads the server name and the ALPN protocols that the client offers; not on the ports to be skipped, where it
 * would wait for the first bytes of a client that waits for the server's.
 */
export function tlsInspector(skippedPorts: readonly number[]): ListenerFilter {
  const filterDisabled = anyOf(skippedPorts.map(destinationPort));
  return ListenerFilter.fromPartial({
    name: 'envoy.filters.listener.tls_inspector',
    configType: {
      $case: 'typedConfig',
      typedConfig: pack('envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector', TlsInspector, TlsInspector.create()),
    },
    ...(filterDisabled === undefined ? {} : { filterDisabled }),
  });
}

function destinationPort(port: number): ListenerFilterChainMatchPredicate {
  return ListenerFilterChainMatchPredicate.fromPartial({
    rule: { $case: 'destinationPortRange', destinationPortRange: { start: port, end: port + 1 } },
  });
}

/** Envoy refuses a disjunction of fewer than two. */
function anyOf(rules: readonly ListenerFilterChainMatchPredicate[]): ListenerFilterChainMatchPredicate | undefined {
  if (rules.length < 2) return rules[0];
  return ListenerFilterChainMatchPredicate.fromPartial({ rule: { $case: 'orMatch', orMatch: { rules: [...rules] } } });
}
