import { flagTable } from '../flags/table.ts';
import { seconds } from '../lib/duration.ts';

/** The flag of every lab command: where the lab keeps its state. */
export const labFlags = flagTable({
  dir: {
    type: 'string',
    env: 'MESH_LAB_DIR',
    default: '',
    summary: "directory of the lab's state; when unset mesh/lab below the user's state directory",
  },
});

const namespaceFlags = flagTable({
  namespace: { type: 'string', char: 'n', default: '', summary: 'namespace of the pod; when unset "default"' },
});

const containerFlags = flagTable({
  container: {
    type: 'string',
    char: 'c',
    default: '',
    summary: 'container of the pod; when unset the first one that is not a sidecar',
  },
});

const imageMapFlags = flagTable({
  image: {
    type: 'stringArray',
    default: [],
    summary: 'command that stands for an image, as NAME=CMD; repeatable',
  },
});

const outputFlags = flagTable({
  output: { type: 'string', char: 'o', default: 'table', options: ['table', 'json'], summary: 'form of the output' },
});

/** Flags of a lab that is the node of a real cluster. */
const nodeFlags = flagTable({
  orchconfig: {
    type: 'string',
    aliases: ['kubeconfig'],
    default: '',
    summary: 'kubeconfig of a cluster that the lab is to be a node of; when unset the lab is a cluster of its own',
  },
  'node-name': { type: 'string', default: 'lab', summary: 'name of the Node object' },
  'node-label': { type: 'stringArray', default: [], summary: 'label of the Node object, as KEY=VALUE; repeatable' },
  'egress-socket': {
    type: 'string',
    default: '',
    summary: "Unix socket on which the node takes the API server's calls to webhooks, as its egress selector names it",
  },
});

const waitFlags = flagTable({
  wait: { type: 'bool', default: true, summary: 'wait until all is ready' },
  timeout: { type: 'duration', default: seconds(120), summary: 'how long to wait for that' },
});

/** The flags of `lab up`. */
export const upFlags = flagTable({
  ...labFlags,
  ...imageMapFlags,
  ...nodeFlags,
  ...waitFlags,
  filename: {
    type: 'stringArray',
    char: 'f',
    default: [],
    summary: 'file or directory of manifests to start with, or - for standard input; repeatable',
  },
});

/** The flags of `lab apply`. */
export const applyFlags = flagTable({
  ...labFlags,
  ...imageMapFlags,
  ...waitFlags,
  filename: {
    type: 'stringArray',
    char: 'f',
    default: [],
    summary: 'file or directory of manifests, or - for standard input; repeatable',
  },
  namespace: {
    type: 'string',
    char: 'n',
    default: '',
    summary: 'namespace of objects that name none themselves; when unset "default"',
  },
});

/** The flags of `lab exec`. */
export const execFlags = flagTable({ ...labFlags, ...namespaceFlags, ...containerFlags });

/** The flags of `lab status`. */
export const statusFlags = flagTable({ ...labFlags, ...outputFlags });

/** The flags of `lab logs`. */
export const logsFlags = flagTable({
  ...labFlags,
  ...namespaceFlags,
  ...containerFlags,
  follow: { type: 'bool', char: 'f', default: false, summary: 'keep printing what is logged' },
});

/** The flags of `lab env`. */
export const envFlags = flagTable({ ...labFlags });

/** The flags of `lab down`. */
export const downFlags = flagTable({
  ...labFlags,
  purge: {
    type: 'bool',
    default: false,
    summary: "also remove the state directory: objects, the certificate authority's key, logs",
  },
});

/** The flags of `lab demo`. */
export const demoFlags = flagTable({
  dir: {
    type: 'string',
    default: '',
    summary: "directory of the demo's own lab; when unset mesh/demo below the user's state directory",
  },
  ...outputFlags,
  keep: { type: 'bool', default: false, summary: 'leave the mesh up' },
});

/** The flags of `lab daemon`, the process behind a running lab. */
export const daemonFlags = flagTable({ ...labFlags, ...imageMapFlags, ...nodeFlags });

/** The flags of `lab uplink`, the process by which a node reaches its API server. */
export const uplinkFlags = flagTable({ ...labFlags, orchconfig: nodeFlags.orchconfig });

/** The flags of `lab image`, which runs one of the built-in images. */
export const imageFlags = flagTable({
  host: { type: 'string', default: '', summary: 'address to listen on; when unset every address of the machine' },
  port: {
    type: 'stringSlice',
    default: [],
    summary: 'ports to serve HTTP on; when unset 8000 and 1234 for httpbin, 8000 for jwks',
  },
  'tcp-port': { type: 'stringSlice', default: [], summary: 'ports to echo raw TCP on (httpbin)' },
  keys: {
    type: 'string',
    default: '',
    summary: 'file of signing keys, made when missing; when unset keys live as long as the server (jwks)',
  },
  issuer: {
    type: 'string',
    default: 'http://jwks.auth.svc.cluster.local:8000',
    summary: 'issuer of tokens (jwks)',
  },
  subject: { type: 'string', default: 'user', summary: 'subject of the token (jwks mint)' },
  audience: { type: 'stringSlice', default: [], summary: 'audiences of the token; when unset it names none (jwks mint)' },
  'expires-in': { type: 'duration', default: seconds(3_600), summary: 'time until the token expires (jwks mint)' },
  variant: {
    type: 'string',
    default: 'valid',
    options: ['valid', 'expired', 'not-yet-valid', 'bad-signature', 'unknown-key', 'alg-none', 'garbage'],
    summary: 'good token, or what is wrong with it (jwks mint)',
  },
});
