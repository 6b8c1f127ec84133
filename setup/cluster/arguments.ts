/** How the programs of a test cluster are called. */
import type { ClusterFiles } from './credentials.ts';

/** The lab's service range, so that its nodes reach the services of the cluster. */
const SERVICE_RANGE = '10.96.0.0/20';
const ISSUER = 'https://kubernetes.default.svc.cluster.local';

/**
 * etcd listens on sockets in its working directory, where nobody but the owner gets in: no port to collide with, and no TLS needed.
 * The number is what its parser of addresses wants; it is part of the socket's name.
 */
const CLIENTS = 'unix://localhost:1';
const PEERS = 'unix://localhost:2';

export function etcdArguments(): readonly string[] {
  return [
    '--data-dir=etcd',
    `--listen-client-urls=${CLIENTS}`,
    `--advertise-client-urls=${CLIENTS}`,
    `--listen-peer-urls=${PEERS}`,
    `--initial-advertise-peer-urls=${PEERS}`,
    `--initial-cluster=default=${PEERS}`,
    // etcd before 3.4.31 cannot be asked how far it is, so that the caches of the API server would wait for the next change.
    '--experimental-watch-progress-notify-interval=200ms',
  ];
}

/** Where the node takes the API server's calls to webhooks, in the server's working directory. */
export const EGRESS_SOCKET = 'node.sock';

/**
 * Endpoints of services are in the network of a lab's node, behind a Unix socket. Webhooks that are given by a URL are called
 * directly, as any API server does: they are not of the cluster.
 */
export const EGRESS = JSON.stringify({
  apiVersion: 'apiserver.k8s.io/v1beta1',
  kind: 'EgressSelectorConfiguration',
  egressSelections: [
    { name: 'cluster', connection: { proxyProtocol: 'HTTPConnect', transport: { uds: { udsName: EGRESS_SOCKET } } } },
  ],
});

export function apiServerArguments(files: ClusterFiles, port: number): readonly string[] {
  return [
    `--etcd-servers=${CLIENTS}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${port}`,
    // It would publish the address above as an endpoint, which the API refuses for a loopback address.
    '--endpoint-reconciler-type=none',
    `--client-ca-file=${files.authority}`,
    `--tls-cert-file=${files.serverCertificate}`,
    `--tls-private-key-file=${files.serverKey}`,
    '--authorization-mode=Node,RBAC',
    '--allow-privileged=true',
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    `--service-account-issuer=${ISSUER}`,
    `--service-account-key-file=${files.tokenKey}`,
    `--service-account-signing-key-file=${files.tokenKey}`,
    // Nothing carries service addresses on the API server's own host: webhooks are called at the endpoints.
    '--enable-aggregator-routing=true',
    `--egress-selector-config-file=${files.egress}`,
    // For the logs of pods; nodes are known by their addresses alone.
    `--kubelet-client-certificate=${files.kubeletClientCertificate}`,
    `--kubelet-client-key=${files.kubeletClientKey}`,
    '--kubelet-preferred-address-types=InternalIP',
  ];
}

export function controllerManagerArguments(files: ClusterFiles): readonly string[] {
  return [
    `--kubeconfig=${files.controllerConfig}`,
    '--secure-port=0',
    '--leader-elect=false',
    // The limit of a busy cluster: with the default, 40 controllers wait 5 s for their credentials.
    '--kube-api-qps=500',
    '--kube-api-burst=500',
    '--use-service-account-credentials=true',
    `--service-account-private-key-file=${files.tokenKey}`,
    `--root-ca-file=${files.authority}`,
    `--cluster-signing-cert-file=${files.authority}`,
    `--cluster-signing-key-file=${files.authorityKey}`,
  ];
}
