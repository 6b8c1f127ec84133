import { loggingFlags } from '../flags/logging.ts';
import { ORCHESTRATOR_KIND, REFUSED_REGISTRY_KINDS, REGISTRY_KINDS } from '../flags/registries.ts';
import { flagTable } from '../flags/table.ts';
import { seconds } from '../lib/duration.ts';

export { CONFIGURATION_TYPES, type ConfigurationType } from '../proxy-dump/configuration-types.ts';

/** The flags of `pilot-agent debug`. */
export const debugFlags = flagTable({
  ...loggingFlags,
  output: {
    type: 'string',
    char: 'o',
    default: 'table',
    options: ['table', 'json', 'yaml'],
    summary: 'how to print it: table, json or yaml',
  },
  proxyAdminPort: { type: 'int', default: 15000, min: 1, max: 65535, summary: 'administrative port of the proxy' },
});

export type DebugFlags = typeof debugFlags;

/** The flags of `pilot-agent proxy`. */
export const proxyFlags = flagTable({
  ...loggingFlags,
  availabilityZone: { type: 'string', default: '', summary: 'availability zone' },
  binaryPath: { type: 'string', default: '/usr/local/bin/proxy', summary: 'path to the proxy binary' },
  bootstrapv2: { type: 'bool', default: false, summary: 'use bootstrap v2 (gRPC, aggregated discovery)' },
  concurrency: { type: 'int', default: 0, min: 0, summary: 'number of worker threads; 0 means one per CPU' },
  configPath: { type: 'string', default: '/etc/mesh/proxy', summary: 'directory for generated configuration' },
  connectTimeout: {
    type: 'duration',
    default: seconds(1),
    summary: 'connection timeout used by the proxy for supporting services',
  },
  controlPlaneAuthPolicy: {
    type: 'string',
    default: 'NONE',
    options: ['NONE', 'MUTUAL_TLS'],
    summary: 'control plane authentication policy',
  },
  customConfigFile: {
    type: 'string',
    default: '',
    summary: 'path to a custom configuration file',
  },
  discoveryAddress: {
    type: 'string',
    default: 'mesh-pilot:15007',
    summary: 'address of the discovery service exposing xDS, as host:port',
  },
  discoveryRefreshDelay: {
    type: 'duration',
    default: seconds(1),
    summary: 'polling interval for service discovery (EDS, CDS, LDS, not RDS)',
  },
  domain: {
    type: 'string',
    default: '',
    summary: 'DNS domain suffix; when empty ${POD_NAMESPACE}.svc.cluster.local is used',
  },
  drainDuration: {
    type: 'duration',
    default: seconds(2),
    summary: 'time the proxy drains connections during a hot restart or a shutdown',
  },
  id: {
    type: 'string',
    default: '',
    summary: 'proxy unique ID; when empty ${POD_NAME}.${POD_NAMESPACE} from the environment is used',
  },
  ip: {
    type: 'string',
    default: '',
    summary: 'proxy IP address; when empty ${INSTANCE_IP} from the environment is used',
  },
  parentShutdownDuration: {
    type: 'duration',
    default: seconds(3),
    summary: 'time the proxy waits before shutting down the parent process during a hot restart',
  },
  proxyAdminPort: { type: 'int', default: 15000, min: 0, max: 65535, summary: 'administrative port of the proxy' },
  proxyLogLevel: {
    type: 'string',
    default: 'info',
    options: ['trace', 'debug', 'info', 'warn', 'err', 'critical', 'off'],
    summary: 'log level of the proxy',
  },
  serviceCluster: { type: 'string', default: 'mesh-proxy', summary: 'service cluster' },
  serviceregistry: {
    type: 'string',
    default: ORCHESTRATOR_KIND,
    options: REGISTRY_KINDS,
    refusedValues: REFUSED_REGISTRY_KINDS,
    summary: 'platform of the service registry',
  },
  statsdUdpAddress: {
    type: 'string',
    default: '',
    summary: 'IP address and port of a statsd UDP listener',
  },
  templateFile: {
    type: 'string',
    default: '',
    summary: 'bootstrap configuration template',
  },
  collectorBAddress: {
    type: 'string',
    aliases: ['zipkinAddress'],
    default: '',
    summary: 'address of the tracing service (host:port)',
  },
  certificatesPath: {
    type: 'string',
    default: '',
    summary: 'directory with cert-chain.pem, key.pem and root-cert.pem; when given, no certificate authority is asked',
  },
  caAddress: {
    type: 'string',
    default: 'mesh-citadel.mesh-system:8060',
    summary: 'address of the certificate authority, as host:port',
  },
  caRootFile: {
    type: 'string',
    default: '/var/run/secrets/mesh/root-cert.pem',
    summary: 'root certificate that the certificate authority and the peers are checked against',
  },
  tokenFile: {
    type: 'string',
    default: '/var/run/secrets/tokens/mesh-token',
    summary: 'service account token that the workload proves its identity with',
  },
  keyType: {
    type: 'string',
    default: 'ec-p256',
    options: ['ec-p256', 'rsa-2048'],
    summary: 'type of the private key made for the workload',
  },
  statusPort: {
    type: 'int',
    default: 15020,
    min: 0,
    max: 65535,
    summary: 'port of the readiness check /healthz/ready; 0 serves none',
  },
  prometheusPort: {
    type: 'uint16',
    default: 15090,
    summary: "port of the proxy's statistics, /stats/prometheus",
  },
  inboundCapturePort: {
    type: 'uint16',
    default: 15006,
    summary: 'port that inbound connections are redirected to; the proxy is ready once it listens there',
  },
  proxyMark: {
    type: 'uint',
    default: 0,
    max: 4_294_967_295,
    summary: "firewall mark for the proxy's own connections, which mesh-init --proxy-mark exempts; 0 means none",
  },
});

export type ProxyFlags = typeof proxyFlags;
