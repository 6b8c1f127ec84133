import { TransportSocket } from '#gen/envoy/config/core/v3/base.ts';
import { RawBuffer } from '#gen/envoy/extensions/transport_sockets/raw_buffer/v3/raw_buffer.ts';
import {
  SubjectAltNameMatcher,
  SubjectAltNameMatcher_SanType,
  TlsParameters_TlsProtocol,
} from '#gen/envoy/extensions/transport_sockets/tls/v3/common.ts';
import {
  CommonTlsContext,
  DownstreamTlsContext,
  UpstreamTlsContext,
} from '#gen/envoy/extensions/transport_sockets/tls/v3/tls.ts';
import type { StringMatcher } from '#gen/envoy/type/matcher/v3/string.ts';
import { SDS } from './config-source.ts';
import { MESH_ALPN } from './names.ts';
import { pack } from './resource.ts';

const TLS = 'envoy.transport_sockets.tls';
const TLS_PACKAGE = 'envoy.extensions.transport_sockets.tls.v3';

/** A matcher of the URI in a peer's certificate. */
type UriMatcher = Pick<StringMatcher, 'matchPattern'>;

/** Keys and roots come from the agent by SDS; the peer's identity is checked against the matchers. */
function meshTls(identities: readonly UriMatcher[], alpnProtocols: readonly string[]): CommonTlsContext {
  const matchTypedSubjectAltNames = identities.map((matcher) =>
    SubjectAltNameMatcher.fromPartial({ sanType: SubjectAltNameMatcher_SanType.URI, matcher }),
  );
  return CommonTlsContext.fromPartial({
    tlsParams: {
      tlsMinimumProtocolVersion: TlsParameters_TlsProtocol.TLSv1_2,
      tlsMaximumProtocolVersion: TlsParameters_TlsProtocol.TLSv1_3,
    },
    tlsCertificateSdsSecretConfigs: [{ name: 'default', sdsConfig: SDS }],
    validationContextType: {
      $case: 'combinedValidationContext',
      combinedValidationContext: {
        defaultValidationContext: { matchTypedSubjectAltNames },
        validationContextSdsSecretConfig: { name: 'ROOTCA', sdsConfig: SDS },
      },
    },
    alpnProtocols: [...alpnProtocols],
  });
}

/**
 * Mesh mutual TLS towards servers whose identity is one of `identities` (SPIFFE ids, at least one: an empty list would
 * accept anybody). `applicationProtocol` is what is spoken inside; `undefined` for raw TCP.
 */
export function clientTls(
  identities: readonly string[],
  sni: string,
  applicationProtocol: 'http/1.1' | 'h2' | undefined,
): TransportSocket {
  const matchers = identities.map((exact): UriMatcher => ({ matchPattern: { $case: 'exact', exact } }));
  const alpn = applicationProtocol === undefined ? [MESH_ALPN] : [MESH_ALPN, applicationProtocol];
  const context = UpstreamTlsContext.fromPartial({ commonTlsContext: meshTls(matchers, alpn), sni });
  return TransportSocket.fromPartial({
    name: TLS,
    configType: { $case: 'typedConfig', typedConfig: pack(`${TLS_PACKAGE}.UpstreamTlsContext`, UpstreamTlsContext, context) },
  });
}

/**
 * Mesh mutual TLS from clients of one trust domain. The negotiated protocol is the one inside: clients offer the mesh's
 * own ALPN only to be told apart.
 */
export function serverTls(trustDomain: string, http: boolean): TransportSocket {
  const members: UriMatcher = { matchPattern: { $case: 'prefix', prefix: `spiffe://${trustDomain}/` } };
  const context = DownstreamTlsContext.fromPartial({
    commonTlsContext: meshTls([members], http ? ['h2', 'http/1.1'] : [MESH_ALPN]),
    requireClientCertificate: true,
  });
  return TransportSocket.fromPartial({
    name: TLS,
    configType: { $case: 'typedConfig', typedConfig: pack(`${TLS_PACKAGE}.DownstreamTlsContext`, DownstreamTlsContext, context) },
  });
}

export const RAW_BUFFER: TransportSocket = TransportSocket.fromPartial({
  name: 'envoy.transport_sockets.raw_buffer',
  configType: {
    $case: 'typedConfig',
    typedConfig: pack('envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer', RawBuffer, RawBuffer.create()),
  },
});
