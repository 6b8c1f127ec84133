import type { Service } from '../model/service.ts';

/** Names that proxies, statistics and people share: `direction|port|subset|host`. */
export const outboundCluster = (service: Service, port: number): string => `outbound|${port}||${service.hostname}`;
export const inboundCluster = (port: number): string => `inbound|${port}||`;

/** Server name that mesh mutual TLS carries; a gateway can tell port and host from it. */
export const serverName = (service: Pick<Service, 'hostname'>, port: number): string =>
  `outbound_.${port}_._.${service.hostname}`;

export const BLACK_HOLE = 'BlackHoleCluster';
export const PASSTHROUGH = 'PassthroughCluster';
export const INBOUND_PASSTHROUGH = 'InboundPassthroughCluster';

/** The ALPN protocol that tells mesh mutual TLS from an application's own TLS. */
export const MESH_ALPN = 'mesh';

/** Key and value of the endpoint metadata that chooses mutual TLS. */
export const TLS_MODE = { key: 'tlsMode', value: 'mesh' } as const;
/** Endpoint metadata by which one address of a headless service is chosen. */
export const SUBSET_KEY = 'address';
