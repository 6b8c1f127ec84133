import { loggingFlagsFor } from '../flags/logging.ts';
import { ORCHESTRATOR_KIND, REFUSED_REGISTRY_KINDS, REGISTRY_KINDS } from '../flags/registries.ts';
import { flagTable } from '../flags/table.ts';
import { seconds } from '../lib/duration.ts';

/** `ads`: what proxies ask for, acknowledge and refuse. */
export const DISCOVERY_SCOPES = ['default', 'ads'] as const;

/** The flags of `pilot-discovery discovery`. */
export const discoveryFlags = flagTable({
  ...loggingFlagsFor(DISCOVERY_SCOPES),
  appNamespace: {
    type: 'string',
    char: 'a',
    default: '',
    summary: 'restricts the namespace the controller manages; when unset all namespaces are watched',
  },
  cfConfig: {
    type: 'string',
    default: '',
    summary: 'cloud-platform config file',
    refused: 'the CloudFoundry registry is not supported by this build yet',
  },
  clusterRegistriesConfigMap: {
    type: 'string',
    default: '',
    summary: 'config map for the clusters config store',
  },
  clusterRegistriesNamespace: {
    type: 'string',
    default: '',
    summary: 'namespace of that config map; when unset that of --namespace',
  },
  configDir: {
    type: 'string',
    default: '',
    summary: 'directory watched for config files; when given the files are the config source instead of a resource client',
  },
  discovery_cache: {
    type: 'bool',
    default: false,
    summary: 'enable caching of discovery responses',
  },
  caCertFile: {
    type: 'string',
    default: '/etc/mesh/certs/root-cert.pem',
    summary: 'x509 certificates of the authorities that proxies have their certificates from',
  },
  domain: { type: 'string', default: 'cluster.local', summary: 'DNS domain suffix' },
  grpcAddr: { type: 'string', default: ':15010', summary: 'gRPC address' },
  orchconfig: {
    type: 'string',
    aliases: ['kubeconfig'],
    default: '',
    summary: 'directory of manifests, or client configuration file, to use instead of in-cluster configuration',
  },
  meshConfig: {
    type: 'string',
    default: '/etc/mesh/config/mesh',
    summary: 'mesh configuration file; when not specified a default mesh is used',
  },
  monitoringPort: {
    type: 'int',
    default: 9093,
    min: 0,
    max: 65535,
    summary: 'HTTP port for self-monitoring information',
  },
  namespace: {
    type: 'string',
    char: 'n',
    default: '',
    summary: 'namespace where the controller resides; when unset ${POD_NAMESPACE} is used',
  },
  port: { type: 'int', default: 8080, min: 0, max: 65535, summary: 'discovery service port' },
  profile: {
    type: 'bool',
    default: false,
    summary: 'enable profiling at /debug/pprof/ of --monitoringPort',
  },
  registries: {
    type: 'stringSlice',
    default: [ORCHESTRATOR_KIND],
    options: REGISTRY_KINDS,
    refusedValues: REFUSED_REGISTRY_KINDS,
    summary: 'comma-separated platform registries to read',
  },
  resync: { type: 'duration', default: seconds(60), summary: 'controller resync interval' },
  tlsCertFile: {
    type: 'string',
    default: '/etc/mesh/certs/cert-chain.pem',
    summary: 'x509 certificate file for TLS, served beside plaintext on --grpcAddr and --port',
  },
  tlsKeyFile: {
    type: 'string',
    default: '/etc/mesh/certs/key.pem',
    summary: 'x509 private key matching --tlsCertFile',
  },
  validationAddr: {
    type: 'string',
    default: '',
    summary: 'address of the webhook that validates policies, such as :15017; when unset it is not served',
  },
  validationWebhookConfig: {
    type: 'string',
    default: 'mesh-policy-validation',
    summary: 'name of the validating webhook configuration resource',
  },
  webhookEndpoint: {
    type: 'string',
    default: '',
    summary: 'webhook API endpoint; supports http://<sockethost> and unix:///<absolute_socket_path>',
  },
});

export type DiscoveryFlags = typeof discoveryFlags;
