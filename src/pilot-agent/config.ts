import { isIP } from 'node:net';
import { join } from 'node:path';
import type { OptionsOf } from '../flags/table.ts';
import type { Duration } from '../lib/duration.ts';
import type { Parsed, Problem } from '../lib/errors.ts';
import { formatSpiffeId } from '../lib/spiffe.ts';
import { type Address, parseAddress } from './address.ts';
import { type AppProbes, parseAppProbes } from './app-probe.ts';
import { type AppScrape, parseAppScrape } from './app-scrape.ts';
import type { ProxyFlags } from './flags.ts';
import { type Environment, type NodeMetadata, resolvePod, type WorkloadIdentity } from './pod.ts';

/** Where the bootstrap configuration comes from. */
export type BootstrapSource =
  | { readonly kind: 'generated' }
  /** A Liquid template of the user's. */
  | { readonly kind: 'template'; readonly file: string }
  /** The user's own configuration, taken as it is. */
  | { readonly kind: 'custom'; readonly file: string };

/** Where the workload's key and certificates come from. */
export type CertificateSource =
  | {
      readonly kind: 'authority';
      readonly address: Address;
      readonly rootFile: string;
      readonly tokenFile: string;
      readonly keyType: 'ec-p256' | 'rsa-2048';
    }
  | { readonly kind: 'files'; readonly chainFile: string; readonly keyFile: string; readonly rootFile: string };

/** Everything the agent needs to know, flags and environment joined. */
export interface ProxyConfig {
  readonly node: {
    /** `sidecar~<ip>~<pod>.<namespace>~<domain>` */
    readonly id: string;
    readonly cluster: string;
    readonly zone: string;
    readonly metadata: NodeMetadata;
  };
  /** Of the pod, the first one first. */
  readonly addresses: readonly string[];
  readonly identity: WorkloadIdentity;
  readonly discovery: {
    readonly address: Address;
    /** Aggregated gRPC streams, or polling. */
    readonly protocol: 'grpc' | 'rest';
    /** Between two polls. */
    readonly refreshDelay: Duration;
    /** SPIFFE id of the server, which mutual TLS is spoken with; undefined: plaintext. */
    readonly serverId: string | undefined;
  };
  readonly connectTimeout: Duration;
  readonly certificates: CertificateSource;
  readonly statsd: Address | undefined;
  readonly zipkin: Address | undefined;
  readonly binaryPath: string;
  readonly configPath: string;
  readonly bootstrap: BootstrapSource;
  readonly sdsSocket: string;
  readonly adminPort: number;
  /** 0: no status server. */
  readonly statusPort: number;
  readonly prometheusPort: number;
  readonly inboundPort: number;
  readonly logLevel: string;
  /** 0: one worker per CPU. */
  readonly concurrency: number;
  readonly drainDuration: Duration;
  readonly parentShutdownDuration: Duration;
  /** Firewall mark of the proxy's connections; 0: none. */
  readonly proxyMark: number;
  /** The application's own probes, by the path that the status port serves each at. */
  readonly appProbes: AppProbes;
  /** Where the application's statistics are; undefined: nowhere. */
  readonly appScrape: AppScrape | undefined;
}

/** A Unix socket address holds 108 bytes, the last being zero. */
const MAX_SOCKET_PATH = 107;
/** The trust domain of a mesh whose configuration names none. */
const DEFAULT_TRUST_DOMAIN = 'cluster.local';
/** Who pilot-discovery is (docs/decisions/control-plane-tls.md), in a namespace that its address may name. */
const DISCOVERY_ACCOUNT = 'mesh-pilot-service-account';
const DISCOVERY_NAMESPACE = 'mesh-system';
const FOREVER_SECONDS = 4_294_967_295;

/**
 * Joins flags, environment and the pod's labels. Every problem's path names the flag and the variable it can come from.
 * @param version of the mesh, told to the control plane
 */
export function resolveProxyConfig(
  options: OptionsOf<ProxyFlags>,
  env: Environment,
  labels: Readonly<Record<string, string>>,
  version: string,
): Parsed<ProxyConfig> {
  const problems: Problem[] = [];
  const pod = resolvePod(options, env, problems);
  const discovery = requireAddress('--discoveryAddress', options.discoveryAddress, problems);
  const config: ProxyConfig = {
    node: {
      id: `sidecar~${pod.addresses[0] ?? ''}~${pod.id}~${pod.domain}`,
      cluster: options.serviceCluster,
      zone: options.availabilityZone,
      metadata: { ...pod.metadata, LABELS: labels, MESH_VERSION: version },
    },
    addresses: pod.addresses,
    identity: pod.identity,
    discovery: {
      address: discovery,
      protocol: options.bootstrapv2 ? 'grpc' : 'rest',
      refreshDelay: options.discoveryRefreshDelay,
      serverId: options.controlPlaneAuthPolicy === 'MUTUAL_TLS' ? discoveryId(pod.identity, discovery.host) : undefined,
    },
    connectTimeout: options.connectTimeout,
    certificates: certificateSource(options, problems),
    statsd:
      options.statsdUdpAddress === '' ? undefined : requireIpAddress('--statsdUdpAddress', options.statsdUdpAddress, problems),
    zipkin:
      options.collectorBAddress === ''
        ? undefined
        : requireAddress('--collectorBAddress', options.collectorBAddress, problems, 'zipkin.monitoring:9411'),
    binaryPath: options.binaryPath,
    configPath: options.configPath,
    bootstrap: bootstrapSource(options, problems),
    sdsSocket: join(options.configPath, 'sds.sock'),
    adminPort: options.proxyAdminPort,
    statusPort: options.statusPort,
    prometheusPort: options.prometheusPort,
    inboundPort: options.inboundCapturePort,
    logLevel: options.proxyLogLevel,
    concurrency: options.concurrency,
    drainDuration: options.drainDuration,
    parentShutdownDuration: options.parentShutdownDuration,
    proxyMark: options.proxyMark,
    appProbes: fromEnvironment('MESH_APP_PROBES', env, parseAppProbes, problems) ?? new Map(),
    appScrape: fromEnvironment('MESH_APP_SCRAPE', env, parseAppScrape, problems),
  };
  checkPlaces(options, config, problems);
  checkDurations(options, problems);
  return problems.length === 0 ? { ok: true, value: config } : { ok: false, problems };
}

function discoveryId({ trustDomain }: WorkloadIdentity, host: string): string {
  const namespace = namespaceOf(host) ?? DISCOVERY_NAMESPACE;
  return formatSpiffeId({ trustDomain: trustDomain ?? DEFAULT_TRUST_DOMAIN, namespace, serviceAccount: DISCOVERY_ACCOUNT });
}

/** The namespace in the name of a Service, `mesh-pilot.mesh-system` or `mesh-pilot.mesh-system.svc.cluster.local`. */
function namespaceOf(host: string): string | undefined {
  if (isIP(host) !== 0) return undefined;
  return /^[^.]+\.([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)(\.svc(\..+)?)?$/.exec(host)?.[1];
}

function certificateSource(options: OptionsOf<ProxyFlags>, problems: Problem[]): CertificateSource {
  const folder = options.certificatesPath;
  if (folder !== '') {
    return {
      kind: 'files',
      chainFile: join(folder, 'cert-chain.pem'),
      keyFile: join(folder, 'key.pem'),
      rootFile: join(folder, 'root-cert.pem'),
    };
  }
  return {
    kind: 'authority',
    address: requireAddress('--caAddress', options.caAddress, problems),
    rootFile: options.caRootFile,
    tokenFile: options.tokenFile,
    keyType: options.keyType,
  };
}

function bootstrapSource(options: OptionsOf<ProxyFlags>, problems: Problem[]): BootstrapSource {
  const { templateFile, customConfigFile } = options;
  if (templateFile !== '' && customConfigFile !== '')
    problems.push({ path: '--templateFile', message: 'cannot be given together with --customConfigFile' });
  if (customConfigFile !== '') return { kind: 'custom', file: customConfigFile };
  return templateFile === '' ? { kind: 'generated' } : { kind: 'template', file: templateFile };
}

function checkPlaces(options: OptionsOf<ProxyFlags>, config: ProxyConfig, problems: Problem[]): void {
  if (options.binaryPath === '') problems.push({ path: '--binaryPath', message: 'must not be empty' });
  if (options.configPath === '') problems.push({ path: '--configPath', message: 'must not be empty' });
  if (options.serviceCluster === '') problems.push({ path: '--serviceCluster', message: 'must not be empty' });
  if (Buffer.byteLength(config.sdsSocket) > MAX_SOCKET_PATH)
    problems.push({ path: '--configPath', message: `"${options.configPath}" is too long for a Unix socket in it` });
  if (config.adminPort === 0)
    problems.push({ path: '--proxyAdminPort', message: '0 is not a port the agent could ask the proxy on' });
}

/** Envoy counts both times of a restart in whole seconds of 32 bits, and kills a parent that has to drain longer than it lives. */
function checkDurations(options: OptionsOf<ProxyFlags>, problems: Problem[]): void {
  for (const flag of ['drainDuration', 'parentShutdownDuration'] as const) {
    if (options[flag] < 0) problems.push({ path: `--${flag}`, message: 'must not be negative' });
    if (options[flag] / 1000 > FOREVER_SECONDS)
      problems.push({ path: `--${flag}`, message: 'is longer than the proxy can count' });
  }
  if (options.connectTimeout <= 0) problems.push({ path: '--connectTimeout', message: 'must be more than 0' });
  if (options.discoveryRefreshDelay <= 0) problems.push({ path: '--discoveryRefreshDelay', message: 'must be more than 0' });
}

function requireAddress(flag: string, text: string, problems: Problem[], example = 'mesh-pilot:15007'): Address {
  const address = parseAddress(text);
  if (address === undefined)
    problems.push({ path: flag, message: `"${text}" is not an address such as ${example} or [fd00::1]:15010` });
  return address ?? { host: '', port: 0 };
}

/** The proxy's statsd sink takes no names. */
function requireIpAddress(flag: string, text: string, problems: Problem[]): Address {
  const address = parseAddress(text);
  if (address === undefined || isIP(address.host) === 0)
    problems.push({ path: flag, message: `"${text}" is not an IP address and port such as 10.0.0.5:8125 or [fd00::1]:8125` });
  return address ?? { host: '', port: 0 };
}

function fromEnvironment<T>(
  name: string,
  env: Environment,
  parse: (text: string) => Parsed<T>,
  problems: Problem[],
): T | undefined {
  const text = env[name] ?? '';
  if (text === '') return undefined;
  const parsed = parse(text);
  if (parsed.ok) return parsed.value;
  problems.push(
    ...parsed.problems.map(({ path, message }) => ({ path: [name, path].filter((part) => part !== '').join(' '), message })),
  );
  return undefined;
}
