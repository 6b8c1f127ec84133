/**
 * gRPC metadata (keys in lower case) that a sidecar's calls to mixs carry, so that checks, quotas and access logs of HTTP and TCP alike say
 * whom they are about: Envoy itself knows addresses and certificates only.
 */
export const REPORTER_METADATA = {
  /** Host names of the services that lead to the port, joined by commas. */
  services: 'x-mesh-destination-services',
  namespace: 'x-mesh-destination-namespace',
  /** Which side of a call the proxy is on: `inbound`. */
  kind: 'x-mesh-reporter',
} as const;
