import { loggingFlags } from '../flags/logging.ts';
import { flagTable } from '../flags/table.ts';
import { milliseconds, seconds } from '../lib/duration.ts';

const HOUR = 3600;

/** The flags of `mesh_ca` itself, which starts the certificate authority. */
export const caFlags = flagTable({
  ...loggingFlags,
  'append-dns-names': {
    type: 'bool',
    default: false,
    summary: 'append DNS names to certificates for webhook services (on Kubernetes)',
  },
  'cert-chain': { type: 'string', default: '', summary: 'certificate chain file path' },
  'citadel-storage-namespace': {
    type: 'string',
    default: 'mesh-system',
    summary: 'namespace where the CA pods run; unused when an explicit file or other storage is specified',
  },
  'grpc-host-identities': {
    type: 'string',
    default: 'mesh-citadel',
    summary: 'comma-separated hostnames of the CA server',
  },
  'grpc-hostname': { type: 'string', default: 'mesh-citadel', summary: 'hostname of the gRPC server' },
  'grpc-port': {
    type: 'int',
    default: 8060,
    min: 0,
    max: 65535,
    summary: 'gRPC port; when 0 the CA serves no gRPC requests',
  },
  'key-size': { type: 'int', default: 2048, summary: 'size of generated private keys, in bits' },
  'orch-config': {
    type: 'string',
    aliases: ['kubeconfig'],
    default: '',
    summary: 'directory of manifests, or client configuration file; required outside the orchestrator',
  },
  'listened-namespace': {
    type: 'string',
    default: '',
    summary: 'namespace the CA listens to; when unset ${NAMESPACE} is used; when neither is set all namespaces',
  },
  'liveness-probe-interval': {
    type: 'duration',
    default: milliseconds(0),
    summary: 'interval of updating the liveness file',
  },
  'liveness-probe-path': {
    type: 'string',
    default: '',
    summary: 'liveness file path',
  },
  'max-workload-cert-ttl': {
    type: 'duration',
    default: seconds(2160 * HOUR),
    summary: 'max TTL of issued workload certificates',
  },
  org: { type: 'string', default: '', summary: 'organization for the certificate' },
  'probe-check-interval': {
    type: 'duration',
    default: seconds(30),
    summary: 'interval of checking CA liveness',
  },
  'requested-ca-cert-ttl': {
    type: 'duration',
    default: seconds(8760 * HOUR),
    summary: 'requested TTL of the certificate that the upstream CA gives this CA',
  },
  'root-cert': { type: 'string', default: '', summary: 'root certificate path' },
  'self-signed-ca': {
    type: 'bool',
    default: false,
    summary: 'use an auto-generated self-signed CA certificate; --signing-cert and --signing-key are then ignored',
  },
  'self-signed-ca-cert-ttl': {
    type: 'duration',
    default: seconds(8760 * HOUR),
    summary: 'TTL of the self-signed CA root certificate',
  },
  'self-signed-ca-org': {
    type: 'string',
    default: 'k8s.cluster.local',
    summary: 'issuer organization of the self-signed CA certificate',
  },
  'sign-ca-certs': {
    type: 'bool',
    default: false,
    summary: 'whether the CA signs certificates for other CAs',
  },
  'sign-ca-certs-for': {
    type: 'stringSlice',
    default: [],
    summary: 'with --sign-ca-certs: further accounts that may become a CA, as namespace/serviceaccount',
  },
  'signing-cert': { type: 'string', default: '', summary: 'CA signing certificate path' },
  'signing-key': { type: 'string', default: '', summary: 'CA signing key path' },
  'upstream-ca-address': {
    type: 'string',
    default: '',
    summary: 'IP:port of an upstream CA; when set the CA relies on it to provision its own certificate',
  },
  'upstream-ca-client-cert': {
    type: 'string',
    default: '',
    summary: 'certificate chain file that the CA shows to the upstream CA, in place of a token',
  },
  'upstream-ca-client-key': { type: 'string', default: '', summary: 'private key file of --upstream-ca-client-cert' },
  'upstream-ca-token': {
    type: 'string',
    default: '/var/run/secrets/tokens/mesh-token',
    summary: 'service account token file that the CA shows to the upstream CA',
  },
  'workload-cert-grace-period-ratio': {
    type: 'float32',
    default: 0.5,
    summary: 'rotation grace period as a ratio of workload certificate TTL',
  },
  'workload-cert-min-grace-period': {
    type: 'duration',
    default: seconds(600),
    summary: 'minimum rotation grace period',
  },
  'workload-cert-ttl': {
    type: 'duration',
    default: seconds(2160 * HOUR),
    summary: 'TTL of issued workload certificates',
  },
});

export type CaFlags = typeof caFlags;
