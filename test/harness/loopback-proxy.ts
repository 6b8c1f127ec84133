import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bootstrap } from '#gen/envoy/config/bootstrap/v3/bootstrap.ts';
import { Cluster } from '#gen/envoy/config/cluster/v3/cluster.ts';
import type { TransportSocket } from '#gen/envoy/config/core/v3/base.ts';
import { AdditionalAddress, type Listener } from '#gen/envoy/config/listener/v3/listener.ts';
import { Secret } from '#gen/envoy/extensions/transport_sockets/tls/v3/secret.ts';
import {
  type CommonTlsContext,
  DownstreamTlsContext,
  UpstreamTlsContext,
} from '#gen/envoy/extensions/transport_sockets/tls/v3/tls.ts';
import { envoyPath } from '../../src/lib/envoy-path.ts';
import { tcpAddress } from '../../src/xds/address.ts';
import { proxyResources, staticBootstrap } from './envoy-validate.ts';
import { freePorts } from './free-port.ts';
import { snapshotOfManifests, testTranslator } from './mesh-input.ts';
import type { TestRoot } from './test-authority.ts';

const READY_LIMIT_MS = 100_000;

/**
 * One real Envoy with the configuration of a sidecar, on loopback and without redirection: its inbound listener takes the
 * address of the application's port beside its own, its outbound listener of the service a port of its own, and keys come from files
 * instead of the agent.
 */
export interface LoopbackProxy {
  /** Where a client outside the mesh would reach the application. */
  readonly inboundPort: number;
  /** The proxy's own inbound port, where the mesh comes when raw TCP is spoken. */
  readonly capturePort: number;
  /** Where an application of the mesh would send its requests. */
  readonly outboundPort: number;
  /** The requests that reached the application, as `METHOD path` with x-forwarded-client-cert. */
  readonly seen: readonly { readonly url: string; readonly clientCert: string | undefined }[];
  /** Envoy's statistics whose name matches. */
  stats(pattern: string): Promise<string>;
  close(): Promise<void>;
}

export interface LoopbackOptions {
  readonly root: TestRoot;
  /** Policies and configuration as YAML, for the service httpbin.foo with port 8000. */
  readonly policies: string;
  /** A field of the mesh configuration. */
  readonly mesh?: string;
  /** Name and protocol of its port. */
  readonly portName?: string;
  /** Whether the service has no virtual address, so that callers connect to its pod. */
  readonly headless?: boolean;
  /** Speaks as soon as somebody connects, and then says everything back; without it the application is an HTTP server. */
  readonly greeting?: string;
}

/** Starts an application and its proxy. */
export async function startLoopbackProxy(options: LoopbackOptions): Promise<LoopbackProxy> {
  const seen: { url: string; clientCert: string | undefined }[] = [];
  const web = createServer((request, response) => {
    seen.push({ url: request.url ?? '', clientCert: request.headers['x-forwarded-client-cert'] as string | undefined });
    response.end('ok');
  });
  const connections = new Set<Socket>();
  const application = options.greeting === undefined ? web : greeter(options.greeting);
  application.on('connection', (socket: Socket) => connections.add(socket.on('error', () => socket.destroy())));
  const applicationPort = await listen(application);
  const folder = mkdtempSync(join(tmpdir(), 'mesh-loopback-'));
  let envoy: ChildProcess | undefined;
  const close = async (): Promise<void> => {
    if (envoy?.exitCode === null && envoy.signalCode === null) {
      const gone = once(envoy, 'exit');
      envoy.kill('SIGKILL');
      await gone;
    }
    for (const socket of connections) socket.destroy();
    application.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const [inboundPort = 0, capturePort = 0, outboundPort = 0, adminPort = 0] = await freePorts(4);
    const bootstrap = await bootstrapFor(options, { applicationPort, inboundPort, capturePort, outboundPort, adminPort });
    const file = join(folder, 'bootstrap.pb');
    writeFileSync(file, Bootstrap.encode(bootstrap).finish());
    const args = ['-c', file, '--use-dynamic-base-id', '--concurrency', '1', '--log-level', 'error'];
    envoy = spawn(envoyPath(process.env), args, { stdio: ['ignore', 'ignore', 'inherit'] });
    await untilReady(adminPort, envoy);
    const stats = async (pattern: string): Promise<string> =>
      (await fetch(`http://127.0.0.1:${adminPort}/stats?filter=${encodeURIComponent(pattern)}`)).text();
    return { inboundPort, capturePort, outboundPort, seen, stats, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A server that speaks first, as those of mysql and smtp do. */
function greeter(greeting: string): TcpServer {
  return createTcpServer((socket) => {
    socket.write(greeting);
    socket.pipe(socket);
  });
}

interface Ports {
  readonly applicationPort: number;
  readonly inboundPort: number;
  readonly capturePort: number;
  readonly outboundPort: number;
  readonly adminPort: number;
}

async function bootstrapFor(options: LoopbackOptions, ports: Ports): Promise<Bootstrap> {
  const { root, policies, portName = 'http', mesh = '', headless = false } = options;
  const configuration = meshConfiguration(`proxyInboundListenPort: ${ports.capturePort}`, mesh);
  const snapshot = snapshotOfManifests(
    manifests(portName, ports.inboundPort, headless ? 'None' : '10.96.0.1') + configuration + policies,
  );
  const node = { id: 'sidecar~127.0.0.1~httpbin-1.foo~foo.svc.cluster.local', cluster: 'test', metadata: {} };
  const bootstrap = staticBootstrap(proxyResources(testTranslator(), snapshot, node));
  const { keyPem, chainPem } = await root.identity({ type: 'uri', value: 'spiffe://cluster.local/ns/foo/sa/httpbin' });
  const text = (inlineString: string) => ({ specifier: { $case: 'inlineString', inlineString } }) as const;
  const own = Secret.fromPartial({
    name: 'default',
    type: { $case: 'tlsCertificate', tlsCertificate: { certificateChain: text(chainPem), privateKey: text(keyPem) } },
  });
  const trusted = Secret.fromPartial({
    name: 'ROOTCA',
    type: { $case: 'validationContext', validationContext: { trustedCa: text(root.pem) } },
  });
  return Bootstrap.fromPartial({
    ...bootstrap,
    admin: { address: tcpAddress('127.0.0.1', ports.adminPort) },
    staticResources: {
      secrets: [own, trusted],
      listeners: (bootstrap.staticResources?.listeners ?? []).flatMap((listener) => onLoopback(listener, ports)),
      clusters: (bootstrap.staticResources?.clusters ?? []).map((cluster) => withTarget(cluster, ports)),
    },
  });
}

const meshConfiguration = (...fields: readonly string[]): string => `
apiVersion: v1
kind: ConfigMap
metadata: {name: mesh, namespace: mesh-system}
data:
  mesh: |
    ${fields.join('\n    ')}
---
`;

const manifests = (portName: string, port: number, clusterIp: string): string => `
apiVersion: v1
kind: Service
metadata: {name: httpbin, namespace: foo}
spec: {clusterIP: ${clusterIp}, selector: {app: httpbin}, ports: [{name: ${portName}, port: 8000, targetPort: ${port}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: httpbin-1, namespace: foo, labels: {app: httpbin}, annotations: {sidecar.mesh.io/status: '{}'}}
spec: {serviceAccountName: httpbin}
status: {podIP: 127.0.0.1}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: httpbin-1, namespace: foo, labels: {kubernetes.io/service-name: httpbin}}
addressType: IPv4
ports: [{name: ${portName}, port: ${port}}]
endpoints: [{addresses: [127.0.0.1]}]
---
`;

function onLoopback(listener: Listener, ports: Ports): Listener[] {
  const filterChains = listener.filterChains.map((chain) => ({
    ...chain,
    transportSocket: withFileSecrets(chain.transportSocket),
  }));
  if (listener.name === 'virtualInbound') {
    const own = AdditionalAddress.fromPartial({ address: tcpAddress('127.0.0.1', ports.capturePort) });
    const address = tcpAddress('127.0.0.1', ports.inboundPort);
    return [{ ...listener, filterChains, address, additionalAddresses: [own] }];
  }
  // The service has its own port, or that of its pod where it has no virtual address. Others that policies bring along have no port of the proxy's.
  const isTheService = [8000, ports.inboundPort].some((port) => listener.name.endsWith(`_${port}`));
  if (listener.name === 'virtualOutbound' || !isTheService) return [];
  return [{ ...listener, bindToPort: true, address: tcpAddress('127.0.0.1', ports.outboundPort) }];
}

/** Without redirection there is no original destination: the application is reached at its real address. */
function withTarget(cluster: Cluster, { applicationPort }: Ports): Cluster {
  const transportSocketMatches = cluster.transportSocketMatches.map((match) => ({
    ...match,
    transportSocket: withFileSecrets(match.transportSocket),
  }));
  if (!cluster.name.startsWith('inbound|')) return { ...cluster, transportSocketMatches };
  const endpoint = {
    hostIdentifier: { $case: 'endpoint', endpoint: { address: tcpAddress('127.0.0.1', applicationPort) } },
  } as const;
  return Cluster.fromPartial({
    ...cluster,
    clusterDiscoveryType: { $case: 'type', type: 0 },
    lbPolicy: 0,
    lbConfig: undefined,
    loadAssignment: { clusterName: cluster.name, endpoints: [{ lbEndpoints: [endpoint] }] },
  });
}

function withFileSecrets(socket: TransportSocket | undefined): TransportSocket | undefined {
  if (socket?.configType?.$case !== 'typedConfig') return socket;
  const { typeUrl, value } = socket.configType.typedConfig;
  if (typeUrl.endsWith('.DownstreamTlsContext')) {
    const context = DownstreamTlsContext.decode(value);
    stripSources(context.commonTlsContext);
    return repacked(socket, typeUrl, DownstreamTlsContext.encode(context).finish());
  }
  if (typeUrl.endsWith('.UpstreamTlsContext')) {
    const context = UpstreamTlsContext.decode(value);
    stripSources(context.commonTlsContext);
    return repacked(socket, typeUrl, UpstreamTlsContext.encode(context).finish());
  }
  return socket;
}

const repacked = (socket: TransportSocket, typeUrl: string, value: Uint8Array): TransportSocket => ({
  ...socket,
  configType: { $case: 'typedConfig', typedConfig: { typeUrl, value } },
});

/** A secret without a source is one of the bootstrap's own. */
function stripSources(context: CommonTlsContext | undefined): void {
  for (const secret of context?.tlsCertificateSdsSecretConfigs ?? []) secret.sdsConfig = undefined;
  const validation = context?.validationContextType;
  if (validation?.$case !== 'combinedValidationContext') return;
  const source = validation.combinedValidationContext.validationContextSdsSecretConfig;
  if (source !== undefined) source.sdsConfig = undefined;
}

async function listen(server: TcpServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function untilReady(adminPort: number, envoy: ChildProcess): Promise<void> {
  const deadline = Date.now() + READY_LIMIT_MS;
  for (;;) {
    if (envoy.exitCode !== null) throw new Error(`envoy ended with ${envoy.exitCode}`);
    const ready = await fetch(`http://127.0.0.1:${adminPort}/ready`).then(
      (response) => response.status === 200,
      () => false,
    );
    if (ready) return;
    if (Date.now() > deadline) throw new Error(`envoy is not ready after ${READY_LIMIT_MS / 1_000} s`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
