/**
 * gRPC metadata (keys in lower case) that a sidecar's calls to mixs carry, so that checks, quotas and access logs of HTTP and TCP alike say
 * whom they are about: Envoy itself knows addresses and certificates only.
 */
export const REPORTER_METADATA = {
  /** Host names of the services that lead to the port, joined by commas. */
  services: 'x-mesh-destination-services',
  namespace: 'x-mesh-destination-namespace',
  /** Which side of a call the proxy is on: `inbound` at its destination, `outbound` at its source. */
  kind: 'x-mesh-reporter',
  /** Id of the proxy's node. Of checks alone: access logs have it in their messages. */
  node: 'x-mesh-reporter-node',
} as const;

/** The environment variable of proxies that has the id of their node, set by their agent: so that what proxies share can name it. */
export const NODE_ID_VARIABLE = 'MESH_NODE_ID';
