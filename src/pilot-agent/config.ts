import { isIP } from 'node:net';
import { join } from 'node:path';
import type { OptionsOf } from '../flags/table.ts';
import type { Duration } from '../lib/duration.ts';
import type { Parsed, Problem } from '../lib/errors.ts';
import { isSpiffeId } from '../lib/spiffe.ts';
import type { ProxyFlags } from './flags.ts';

export interface Address {
  /** A name or an IP address, without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Who the workload is, as far as the agent knows: the certificate must say the same. */
export interface WorkloadIdentity {
  /** Undefined: the certificate authority's choice is taken. */
  readonly trustDomain: string | undefined;
  readonly namespace: string;
  readonly serviceAccount: string;
}

/** What the node tells discovery about itself. */
export type NodeMetadata = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

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
  readonly discovery: Address;
  readonly connectTimeout: Duration;
  readonly ca: {
    readonly address: Address;
    readonly rootFile: string;
    readonly tokenFile: string;
    readonly keyType: 'ec-p256' | 'rsa-2048';
  };
  readonly binaryPath: string;
  readonly bootstrapFile: string;
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
}

type Environment = Readonly<Record<string, string | undefined>>;

const META_PREFIX = 'MESH_META_';
/** A Unix socket address holds 108 bytes, the last being zero. */
const MAX_SOCKET_PATH = 107;

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
  const sdsSocket = join(options.configPath, 'sds.sock');
  if (Buffer.byteLength(sdsSocket) > MAX_SOCKET_PATH) {
    problems.push({ path: '--configPath', message: `"${options.configPath}" is too long for a Unix socket in it` });
  }
  if (!options.bootstrapv2) {
    problems.push({ path: '--bootstrapv2', message: 'is needed: the older bootstrap, which polls REST, is not in this build' });
  }
  const config: ProxyConfig = {
    node: {
      id: `sidecar~${pod.addresses[0] ?? ''}~${pod.id}~${pod.domain}`,
      cluster: options.serviceCluster,
      zone: options.availabilityZone,
      metadata: { ...givenMetadata(env), ...pod.metadata, LABELS: labels, MESH_VERSION: version },
    },
    addresses: pod.addresses,
    identity: pod.identity,
    discovery: requireAddress('--discoveryAddress', options.discoveryAddress, problems),
    connectTimeout: options.connectTimeout,
    ca: {
      address: requireAddress('--caAddress', options.caAddress, problems),
      rootFile: options.caRootFile,
      tokenFile: options.tokenFile,
      keyType: options.keyType,
    },
    binaryPath: options.binaryPath,
    bootstrapFile: join(options.configPath, 'envoy-rev0.json'),
    sdsSocket,
    adminPort: options.proxyAdminPort,
    statusPort: options.statusPort,
    prometheusPort: options.prometheusPort,
    inboundPort: options.inboundCapturePort,
    logLevel: options.proxyLogLevel,
    concurrency: options.concurrency,
    drainDuration: options.drainDuration,
    parentShutdownDuration: options.parentShutdownDuration,
    proxyMark: options.proxyMark,
  };
  checkDurations(options, problems);
  if (config.adminPort === 0)
    problems.push({ path: '--proxyAdminPort', message: '0 is not a port the agent could ask the proxy on' });
  return problems.length === 0 ? { ok: true, value: config } : { ok: false, problems };
}

interface Pod {
  readonly id: string;
  readonly domain: string;
  readonly addresses: readonly string[];
  readonly identity: WorkloadIdentity;
  readonly metadata: NodeMetadata;
}

function resolvePod(options: OptionsOf<ProxyFlags>, env: Environment, problems: Problem[]): Pod {
  const { POD_NAME: name = '', POD_NAMESPACE: fromEnv = '' } = env;
  const id = options.id || (name !== '' && fromEnv !== '' ? `${name}.${fromEnv}` : '');
  if (id === '') problems.push({ path: '--id', message: 'is empty and POD_NAME or POD_NAMESPACE is not set' });
  const namespace = fromEnv || id.slice(id.lastIndexOf('.') + 1);
  const serviceAccount = env['SERVICE_ACCOUNT'] || 'default';
  const trustDomain = env['TRUST_DOMAIN'] || undefined;
  if (id !== '' && !isSpiffeId({ trustDomain: trustDomain ?? 'any', namespace, serviceAccount })) {
    const shown = JSON.stringify({ TRUST_DOMAIN: trustDomain, POD_NAMESPACE: namespace, SERVICE_ACCOUNT: serviceAccount });
    problems.push({ path: 'environment', message: `${shown} does not name an identity` });
  }
  if (/[~\s]/.test(id + options.domain))
    problems.push({ path: '--id', message: `neither it nor --domain may contain "~" or blanks` });
  const addresses = resolveAddresses(options.ip, env, problems);
  return {
    id,
    domain: options.domain || `${namespace}.svc.cluster.local`,
    addresses,
    identity: { trustDomain, namespace, serviceAccount },
    metadata: {
      NAMESPACE: namespace,
      POD_NAME: name || id.slice(0, Math.max(0, id.lastIndexOf('.'))),
      SERVICE_ACCOUNT: serviceAccount,
      INSTANCE_IPS: addresses.join(','),
    },
  };
}

function resolveAddresses(flag: string, env: Environment, problems: Problem[]): readonly string[] {
  const first = flag || env['INSTANCE_IP'] || '';
  if (first === '') problems.push({ path: '--ip', message: 'is empty and INSTANCE_IP is not set' });
  const others = (env['INSTANCE_IPS'] ?? '').split(',').map((text) => text.trim());
  const addresses = [...new Set([first, ...others])].filter((text) => text !== '');
  for (const address of addresses) {
    if (isIP(address) === 0)
      problems.push({ path: '--ip', message: `"${address}" (or INSTANCE_IP, INSTANCE_IPS) is not an IP address` });
  }
  return addresses;
}

/** What `MESH_META_*` gives; what the agent knows itself is not overridden by it. */
function givenMetadata(env: Environment): Readonly<Record<string, string>> {
  const entries = Object.entries(env).flatMap(([name, value]): [string, string][] =>
    name.startsWith(META_PREFIX) && value !== undefined ? [[name.slice(META_PREFIX.length), value]] : [],
  );
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function checkDurations(options: OptionsOf<ProxyFlags>, problems: Problem[]): void {
  for (const flag of ['drainDuration', 'parentShutdownDuration'] as const) {
    if (options[flag] < 0) problems.push({ path: `--${flag}`, message: 'must not be negative' });
  }
  if (options.connectTimeout <= 0) problems.push({ path: '--connectTimeout', message: 'must be more than 0' });
}

function requireAddress(flag: string, text: string, problems: Problem[]): Address {
  const address = parseAddress(text);
  if (address === undefined)
    problems.push({ path: flag, message: `"${text}" is not an address such as mesh-pilot:15007 or [fd00::1]:15010` });
  return address ?? { host: '', port: 0 };
}

/** `host:port`, `1.2.3.4:port` or `[v6]:port`. */
export function parseAddress(text: string): Address | undefined {
  const [, bracketed, name, digits = ''] = /^(?:\[([^\]]+)\]|([^:[\]\s/]+)):([0-9]{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === '' || port < 1 || port > 65_535) return undefined;
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? { host: bracketed, port } : undefined;
  const host = name ?? '';
  const isName = /^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9.])?$/.test(host);
  const looksNumeric = /^[0-9.]+$/.test(host);
  return isIP(host) === 4 || (isName && !looksNumeric) ? { host, port } : undefined;
}

/** The address as one text, IPv6 in brackets. */
export function printAddress(address: Address): string {
  return `${isIP(address.host) === 6 ? `[${address.host}]` : address.host}:${address.port}`;
}
