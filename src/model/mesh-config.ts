import type { Duration } from '../lib/duration.ts';
import { seconds } from '../lib/duration.ts';

/** The mesh configuration file (`--meshConfig`, or key `mesh` of the ConfigMap `mesh`), parsed, with defaults filled in. */
export interface MeshConfig {
  /** Trust domain of SPIFFE identities. */
  readonly trustDomain: string;
  readonly authPolicy: 'NONE' | 'MUTUAL_TLS';
  readonly outboundTrafficPolicy: 'REGISTRY_ONLY' | 'ALLOW_ANY';
  /** Namespace of the control plane. */
  readonly rootNamespace: string;
  /** Port of the sidecar that outbound connections are redirected to. */
  readonly proxyListenPort: number;
  /** Port of the sidecar that inbound connections are redirected to. */
  readonly proxyInboundListenPort: number;
  /** To upstream hosts. */
  readonly connectTimeout: Duration;
  /** What pilot-discovery asks of proxies: `MUTUAL_TLS` refuses plaintext and TLS without a client certificate. */
  readonly controlPlaneAuthPolicy: 'NONE' | 'MUTUAL_TLS';
  /** Path the sidecars write access logs to; empty: none. */
  readonly accessLogFile: string;
  /** Whether sidecars report spans of requests to the collector that their agent names (`--collectorBAddress`). */
  readonly enableTracing: boolean;
  /** Of the requests that no traced one caused, in percent. */
  readonly traceSampling: number;
  /** Zipkin's server, for sidecars whose agent names none; a service of the mesh or any host that they can resolve. `undefined`: spans go nowhere. */
  readonly traceCollector: ServerAddress | undefined;
  /** Whom sidecars ask before they let a request or a connection in; `undefined`: nobody. */
  readonly mixerCheckServer: ServerAddress | undefined;
  /** Whom they tell what requests and connections came to; `undefined`: nobody. */
  readonly mixerReportServer: ServerAddress | undefined;
  /** Whether requests pass while mixs does not answer. */
  readonly policyCheckFailOpen: boolean;
  /** Nobody is asked, though mixerCheckServer says who would be. */
  readonly disablePolicyChecks: boolean;
  /** Of requests nobody is told; of TCP connections mixerReportServer still is. */
  readonly disableMixerHttpReports: boolean;
}

/** A host name and a port. Of mixs it is the host name that the registry has for a service of the mesh. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

export const DEFAULT_MESH_CONFIG: MeshConfig = {
  trustDomain: 'cluster.local',
  authPolicy: 'NONE',
  outboundTrafficPolicy: 'REGISTRY_ONLY',
  rootNamespace: 'mesh-system',
  proxyListenPort: 15001,
  proxyInboundListenPort: 15006,
  connectTimeout: seconds(1),
  controlPlaneAuthPolicy: 'NONE',
  accessLogFile: '',
  enableTracing: false,
  traceSampling: 100,
  traceCollector: undefined,
  mixerCheckServer: undefined,
  mixerReportServer: undefined,
  policyCheckFailOpen: false,
  disablePolicyChecks: false,
  disableMixerHttpReports: false,
};
