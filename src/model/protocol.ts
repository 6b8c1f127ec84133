/** What a service port speaks, as far as the mesh needs to know. */
export type Protocol = 'http' | 'http2' | 'grpc' | 'https' | 'tls' | 'tcp' | 'mongo' | 'redis' | 'mysql' | 'udp';

const PROTOCOLS: readonly Protocol[] = ['http', 'http2', 'grpc', 'https', 'tls', 'tcp', 'mongo', 'redis', 'mysql', 'udp'];

/** Standard values of `appProtocol` (KEP-3726) that have another spelling here. */
const APP_PROTOCOLS: Readonly<Record<string, Protocol>> = {
  'kubernetes.io/h2c': 'http2',
  'kubernetes.io/ws': 'http',
  'kubernetes.io/wss': 'https',
  'grpc-web': 'http',
  ws: 'http',
  wss: 'https',
};

const known = (text: string): Protocol | undefined => PROTOCOLS.find((protocol) => protocol === text);

/**
 * The protocol of a service port: its transport first (UDP is never proxied), then `appProtocol`, else the prefix of its
 * name up to the first dash, else raw TCP. A declared `appProtocol` that is not known means raw TCP whatever the name says.
 */
export function protocolOf(port: { transport: string; appProtocol?: string | undefined; name: string }): Protocol {
  if (port.transport !== 'TCP') return 'udp';
  if (port.appProtocol !== undefined) {
    const declared = port.appProtocol.toLowerCase();
    return APP_PROTOCOLS[declared] ?? known(declared) ?? 'tcp';
  }
  return known(port.name.toLowerCase().split('-', 1)[0] ?? '') ?? 'tcp';
}

/** Whether the proxy reads requests on such a port, so that it can route, retry and check tokens. */
export function isHttp(protocol: Protocol): boolean {
  return protocol === 'http' || protocol === 'http2' || protocol === 'grpc';
}

/** Whether the application speaks TLS on such a port itself, so that a caller names the server it wants. */
export function isTls(protocol: Protocol): boolean {
  return protocol === 'https' || protocol === 'tls';
}

/** Whether the proxy has anything to do with such a port. */
export function isProxied(protocol: Protocol): boolean {
  return protocol !== 'udp';
}
