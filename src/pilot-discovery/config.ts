import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Invocation } from '../flags/table.ts';
import { ANY_HOST, type HostPort, parseListenAddress } from '../lib/address.ts';
import { type Duration, formatDuration, milliseconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { DEFAULT_MESH_CONFIG } from '../model/mesh-config.ts';
import type { DiscoveryFlags } from './flags.ts';
import { chooseTlsFiles, type TlsFiles } from './tls-files.ts';
import { parseWebhookEndpoint, type WebhookEndpoint } from './webhook-endpoint.ts';

/** What is left of the flags and the environment once every default and fallback is resolved. */
export interface DiscoveryConfig {
  /** Store of services, endpoints and pods. */
  readonly registryPath: string;
  /** Store of policies and of the mesh configuration. */
  readonly configPath: string;
  /** The files of `--configDir` are their author's: nothing is written there. */
  readonly policyStatus: 'written' | 'left';
  /** Names this server in the status of policies; the same after a restart. */
  readonly reporterId: string;
  readonly meshConfigFile: string | undefined;
  /** Of the control plane. */
  readonly namespace: string;
  /** Only this namespace's services and policies; `undefined`: all. */
  readonly appNamespace: string | undefined;
  readonly domain: string;
  readonly resync: Duration;
  /** The ConfigMap that names further clusters; undefined: there are none. */
  readonly clusterRegistries: { readonly namespace: string; readonly name: string } | undefined;
  readonly grpc: HostPort;
  readonly http: HostPort;
  readonly monitoring: HostPort;
  readonly tls: TlsFiles;
  /** Undefined: the validating webhook is not served. */
  readonly validation: { readonly address: HostPort; readonly configuration: string } | undefined;
  /** Undefined: there is none. */
  readonly webhook: WebhookEndpoint | undefined;
  /** Whether answers of REST discovery are kept. */
  readonly discoveryCache: boolean;
  /** Whether profiles are taken on the monitoring port. */
  readonly profile: boolean;
}

/** Throws a MeshError `usage` that names the flag. */
export function resolveConfig(
  { options, given }: Invocation<DiscoveryFlags>,
  env: Readonly<Record<string, string | undefined>>,
): DiscoveryConfig {
  requireName('domain', options.domain, DOMAIN);
  if (options.namespace !== '') requireName('namespace', options.namespace, LABEL);
  if (options.appNamespace !== '') requireName('appNamespace', options.appNamespace, LABEL);
  requireResync(options.resync);
  // A default path that is not there means the default mesh; one that was asked for must be there.
  const useFile = given.has('meshConfig') || existsSync(options.meshConfig);
  const tls = chooseTlsFiles(
    { certFile: resolve(options.tlsCertFile), keyFile: resolve(options.tlsKeyFile), caFile: resolve(options.caCertFile) },
    given.has('tlsCertFile') || given.has('tlsKeyFile') || given.has('caCertFile'),
  );
  const namespace = options.namespace || env['POD_NAMESPACE'] || DEFAULT_MESH_CONFIG.rootNamespace;
  return {
    registryPath: options.orchconfig || options.configDir,
    configPath: options.configDir || options.orchconfig,
    policyStatus: options.configDir === '' ? 'written' : 'left',
    reporterId: env['POD_NAME'] || `${hostname()}:${options.port}`,
    meshConfigFile: useFile ? options.meshConfig : undefined,
    namespace,
    appNamespace: options.appNamespace || undefined,
    domain: options.domain,
    resync: options.resync,
    clusterRegistries: clusterRegistries(options, namespace),
    grpc: requireAddress('grpcAddr', options.grpcAddr),
    http: { host: ANY_HOST, port: options.port },
    monitoring: { host: ANY_HOST, port: options.monitoringPort },
    tls,
    validation: validationOf(options, tls),
    webhook: parseWebhookEndpoint(options.webhookEndpoint),
    discoveryCache: options.discovery_cache,
    profile: options.profile,
  };
}

function requireAddress(flag: string, text: string): HostPort {
  const address = parseListenAddress(text);
  if (address.ok) return address.value;
  throw new MeshError('usage', `flag --${flag}: ${address.problems[0]?.message ?? ''}`);
}

/** API servers call webhooks over TLS only. */
function validationOf(
  { validationAddr, validationWebhookConfig: configuration }: Invocation<DiscoveryFlags>['options'],
  tls: TlsFiles,
): DiscoveryConfig['validation'] {
  if (validationAddr === '') return undefined;
  if (tls.presence === 'awaited') {
    throw new MeshError(
      'usage',
      'flag --validationAddr: the webhook needs a certificate: --tlsCertFile, --tlsKeyFile, --caCertFile',
    );
  }
  return { address: requireAddress('validationAddr', validationAddr), configuration };
}

function clusterRegistries(
  options: Invocation<DiscoveryFlags>['options'],
  namespace: string,
): DiscoveryConfig['clusterRegistries'] {
  const { clusterRegistriesConfigMap: name, clusterRegistriesNamespace: given } = options;
  if (name !== '' && !DOMAIN.test(name)) {
    throw new MeshError('usage', `flag --clusterRegistriesConfigMap: ${JSON.stringify(name)} is not the name of a ConfigMap`);
  }
  if (given !== '') requireName('clusterRegistriesNamespace', given, LABEL);
  if (name !== '') return { namespace: given || namespace, name };
  if (given === '') return undefined;
  throw new MeshError('usage', 'flag --clusterRegistriesNamespace means nothing without --clusterRegistriesConfigMap');
}

const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const DOMAIN = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/;

/** RFC 1123, section 2.1, as Kubernetes restricts it. */
function requireName(flag: string, name: string, form: RegExp): void {
  if (form.test(name)) return;
  const example = form === LABEL ? 'a namespace such as mesh-system' : 'a DNS domain such as cluster.local';
  throw new MeshError('usage', `flag --${flag}: ${JSON.stringify(name)} is not ${example}: lower case letters, digits and "-"`);
}

const MIN_RESYNC = milliseconds(100);
/** Node's timers take no more. */
const MAX_RESYNC = milliseconds(2 ** 31 - 1);

function requireResync(resync: Duration): void {
  if (resync >= MIN_RESYNC && resync <= MAX_RESYNC) return;
  throw new MeshError('usage', `flag --resync: ${formatDuration(resync)} is not between 100ms and 596h`);
}
