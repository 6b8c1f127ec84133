/** JSON Schema (2020-12) of the mesh configuration, compiled ahead of time; `message` is the reason in words. */

const PORT = { type: 'integer', minimum: 1, maximum: 65535, message: 'must be a port number from 1 to 65535' } as const;
const SERVER = {
  type: 'string',
  maxLength: 260,
  pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)+:[0-9]{1,5}$',
  message: 'must be a service of the mesh and its port, such as mesh-policy.mesh-system.svc.cluster.local:9091',
} as const;
const COLLECTOR = {
  type: 'string',
  maxLength: 260,
  pattern: '^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?:[0-9]{1,5}$',
  message: 'must be host:port, such as zipkin.monitoring:9411',
} as const;
const MODE = { enum: ['REGISTRY_ONLY', 'ALLOW_ANY'] } as const;

export const MESH_CONFIG = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  additionalProperties: false,
  properties: {
    trustDomain: {
      type: 'string',
      maxLength: 255,
      pattern: '^[a-z0-9._-]+$',
      message: 'must be a SPIFFE trust domain such as cluster.local: lower-case letters, digits, ".", "-" and "_"',
    },
    authPolicy: { enum: ['NONE', 'MUTUAL_TLS'] },
    outboundTrafficPolicy: {
      if: { type: 'string' },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: MODE,
      else: { type: 'object', additionalProperties: false, required: ['mode'], properties: { mode: MODE } },
    },
    rootNamespace: {
      type: 'string',
      maxLength: 63,
      pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
      message: 'must be the name of a namespace, such as mesh-system',
    },
    proxyListenPort: PORT,
    proxyInboundListenPort: PORT,
    connectTimeout: { type: 'string', message: 'must be a duration such as 1s or 500ms' },
    accessLogFile: { type: 'string' },
    enableTracing: { type: 'boolean' },
    mixerCheckServer: SERVER,
    mixerReportServer: SERVER,
    policyCheckFailOpen: { type: 'boolean' },
    disablePolicyChecks: { type: 'boolean' },
    disableMixerHttpReports: { type: 'boolean' },
    defaultConfig: {
      type: 'object',
      properties: {
        controlPlaneAuthPolicy: { enum: ['NONE', 'MUTUAL_TLS'] },
        tracing: {
          type: 'object',
          additionalProperties: false,
          properties: {
            sampling: { type: 'number', minimum: 0, maximum: 100, message: 'must be a percentage from 0 to 100' },
            zipkin: {
              type: 'object',
              additionalProperties: false,
              required: ['address'],
              properties: { address: COLLECTOR },
            },
          },
        },
      },
    },
  },
} as const;

const INGRESS = 'ingress is not supported by this build yet';

/** Keys that users of the field know and this build does not have: refused with the reason, never ignored. */
export const REFUSED_MESH_CONFIG: Readonly<Record<string, string>> = {
  mixerAddress: 'give mixerCheckServer and mixerReportServer',
  sidecarToTelemetrySessionAffinity: 'sidecars report by long streams, which stay with one server by themselves',
  ingressClass: INGRESS,
  ingressService: INGRESS,
  ingressControllerMode: INGRESS,
  ingressSelector: INGRESS,
  accessLogFormat: 'the format of access logs cannot be changed in this build yet',
  accessLogEncoding: 'the format of access logs cannot be changed in this build yet',
  enableEnvoyAccessLogService: 'access logs go to a file only (accessLogFile)',
  rdsRefreshDelay: 'proxies are pushed to; give --discoveryRefreshDelay to pilot-agent for those that poll',
  edsRefreshDelay: 'proxies are pushed to; give --discoveryRefreshDelay to pilot-agent for those that poll',
  discoveryRefreshDelay: 'give --discoveryRefreshDelay to pilot-agent',
  sdsUdsPath: 'the agent serves keys to its proxy on a socket of its own below --configPath',
  sdsRefreshDelay: 'the agent pushes renewed keys to its proxy',
  enableSdsTokenMount: 'the service account token is always mounted',
  enableAutoMtls: 'sidecars always use mutual TLS with each other; there is nothing to switch on',
  localityLbSetting: 'load balancing by locality is not supported by this build yet',
  configSources: 'give --configDir or --orchconfig to pilot-discovery',
  trustDomainAliases: 'trust domain aliases are not supported by this build yet',
  dnsRefreshRate: 'the mesh gives proxies addresses, not names to look up',
  h2UpgradePolicy: 'the protocol follows the name or appProtocol of the port',
  tcpKeepalive: 'TCP keepalive of upstream connections is not supported by this build yet',
  defaultServiceExportTo: 'every service is visible to all namespaces in this build',
  defaultVirtualServiceExportTo: 'virtual services are not supported by this build yet',
  defaultDestinationRuleExportTo: 'destination rules are not supported by this build yet',
  protocolDetectionTimeout: 'the protocol follows the name or appProtocol of the port; it is not guessed',
};
