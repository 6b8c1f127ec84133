import { flagTable } from '../flags/table.ts';
import { seconds } from '../lib/duration.ts';

/** The flag of every meshctl command: the store to work on. */
export const storeFlags = flagTable({
  orchconfig: {
    type: 'string',
    aliases: ['kubeconfig'],
    env: 'MESH_ORCHCONFIG',
    default: '',
    summary: 'directory of manifests, or client configuration file, to work on',
  },
});

const namespaceFlags = flagTable({
  namespace: {
    type: 'string',
    char: 'n',
    default: '',
    summary: 'namespace of objects that name none themselves; when unset "default"',
  },
});

const filenameFlags = flagTable({
  filename: {
    type: 'stringArray',
    char: 'f',
    default: [],
    summary: 'file or directory of manifests, or - for standard input; repeatable',
  },
});

/** The flags of the commands that take manifests: create, replace, apply. */
export const writeFlags = flagTable({ ...storeFlags, ...namespaceFlags, ...filenameFlags });

/** The flags of `meshctl delete`: objects are named by manifests or by TYPE and NAME. */
export const deleteFlags = flagTable({ ...storeFlags, ...namespaceFlags, ...filenameFlags });

/** The flags of `meshctl get`. */
export const getFlags = flagTable({
  ...storeFlags,
  ...namespaceFlags,
  'all-namespaces': { type: 'bool', char: 'A', default: false, summary: 'list the objects of every namespace' },
  output: {
    type: 'string',
    char: 'o',
    default: 'table',
    options: ['table', 'yaml', 'json'],
    summary: 'form of the output',
  },
});

/** The flags of `meshctl explain`. */
export const explainFlags = flagTable({
  ...storeFlags,
  ...namespaceFlags,
  domain: { type: 'string', default: 'cluster.local', summary: 'DNS domain suffix of services' },
  meshConfig: { type: 'string', default: '', summary: 'mesh configuration file; when unset the ConfigMap `mesh` is read' },
  output: { type: 'string', char: 'o', default: 'text', options: ['text', 'json'], summary: 'form of the output' },
});

/** The flags of `meshctl inject`. */
export const injectFlags = flagTable({
  ...namespaceFlags,
  ...filenameFlags,
  force: {
    type: 'bool',
    default: false,
    summary: 'inject also where an annotation, a selector, the policy or a namespace label says not to',
  },
  injectConfig: {
    type: 'string',
    default: '',
    summary: 'injection configuration and template file; when unset the built-in one is used',
  },
  meshConfig: { type: 'string', default: '', summary: 'mesh configuration file; when unset a default mesh is used' },
  includeIPRanges: {
    type: 'stringSlice',
    default: ['*'],
    summary: 'CIDR ranges whose outbound traffic goes through the sidecar; * means all',
  },
  excludeIPRanges: {
    type: 'stringSlice',
    default: [],
    summary: 'CIDR ranges whose outbound traffic does not go through the sidecar',
  },
  includeInboundPorts: {
    type: 'stringSlice',
    default: ['*'],
    summary: 'inbound ports that go through the sidecar; * means all',
  },
  excludeInboundPorts: {
    type: 'stringSlice',
    default: [],
    summary: 'inbound ports that do not go through the sidecar',
  },
  excludeOutboundPorts: {
    type: 'stringSlice',
    default: [],
    summary: 'outbound ports that do not go through the sidecar',
  },
  nativeSidecar: {
    type: 'string',
    default: 'auto',
    options: ['true', 'false', 'auto'],
    summary:
      'whether the sidecar is a native one, which clusters have from Kubernetes 1.29 on; auto: in pods that have one of their own',
  },
});

const controlPlaneFlags = flagTable({
  namespace: { type: 'string', char: 'n', default: 'mesh-system', summary: 'namespace of the control plane' },
});

/** The flags of `meshctl install`. */
export const installFlags = flagTable({
  ...storeFlags,
  ...controlPlaneFlags,
  apply: { type: 'bool', default: false, summary: 'bring the objects into the cluster instead of printing them' },
  crds: { type: 'bool', default: false, summary: 'the CustomResourceDefinitions of policies and rules only' },
  'default-rules': {
    type: 'bool',
    default: true,
    summary: 'give mixs rules that make metrics and an access log of what sidecars report',
  },
  'dry-run': {
    type: 'string',
    default: 'none',
    options: ['none', 'server'],
    summary: 'with --apply: server asks the API server what would be done, and changes nothing',
  },
  'force-conflicts': {
    type: 'bool',
    default: false,
    summary: 'with --apply: take over fields that somebody else has set to something else',
  },
  image: {
    type: 'string',
    default: '',
    summary: 'image with the executable; when unset mesh/mesh with the tag of this version',
  },
  mixs: {
    type: 'string',
    default: 'telemetry',
    options: ['none', 'telemetry', 'all'],
    summary: 'what mixs is installed for: nothing, reports of sidecars, or reports and policy checks of every request',
  },
  replicas: {
    type: 'int',
    default: 2,
    min: 1,
    max: 100,
    summary: 'how many of pilot-discovery, of the injector and of mixs run',
  },
  output: {
    type: 'string',
    char: 'o',
    default: 'yaml',
    options: ['yaml', 'json'],
    summary: 'form of the objects; with --apply of the results, which otherwise are a line each',
  },
  timeout: { type: 'duration', default: seconds(300), summary: 'how long --wait waits' },
  wait: { type: 'bool', default: false, summary: 'with --apply: wait until all Deployments are available' },
});

/** The flags of `meshctl uninstall`. */
export const uninstallFlags = flagTable({
  ...storeFlags,
  ...controlPlaneFlags,
  crds: {
    type: 'bool',
    default: false,
    summary: 'delete the CustomResourceDefinitions too, and with them every policy and every rule',
  },
  output: {
    type: 'string',
    char: 'o',
    default: 'text',
    options: ['text', 'yaml', 'json'],
    summary: 'form of the results',
  },
  purge: {
    type: 'bool',
    default: false,
    summary:
      'delete everything: policies, rules, configuration, certificates, the key of the certificate authority, the namespace',
  },
  yes: { type: 'bool', char: 'y', default: false, summary: 'do not ask' },
});
