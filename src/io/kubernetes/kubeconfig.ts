/** Reads a kubeconfig (https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/): the server and the user of its current context. */
import { isAbsolute, join } from 'node:path';
import { CORE_SCHEMA, load } from 'js-yaml';
import type { Parsed, Problem } from '../../lib/errors.ts';
import { Redacted } from '../../lib/redacted.ts';
import type { Access, Authorization, ExecPlugin, Material, ServerAccess, UserAccess } from './access.ts';
import { ConfigReader } from './config-reader.ts';

const EXEC_VERSIONS: readonly string[] = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Paths in the text are relative to `directory`. Secrets never appear in problems. */
export function parseKubeconfig(text: string, directory: string): Parsed<Access> {
  const problems: Problem[] = [];
  const root = new ConfigReader(loadYaml(text, problems), '', problems);
  if (problems.length > 0) return { ok: false, problems };
  const context = named(root, 'contexts', 'context', root.text('current-context'), 'current-context');
  const cluster = named(root, 'clusters', 'cluster', context.text('cluster'), 'cluster of the current context');
  const server = readServer(cluster, directory);
  const user = readUser(root, context.text('user'), cluster, directory);
  checkCleartext(server, user, cluster);
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: { server, user } };
}

function loadYaml(text: string, problems: Problem[]): unknown {
  if (text.trim() === '') {
    problems.push({ path: '', message: 'is empty' });
    return undefined;
  }
  try {
    return load(text, { schema: CORE_SCHEMA });
  } catch (error) {
    // The library's message quotes the text, which may hold a key.
    const line = /\((\d+):\d+\)/.exec(error instanceof Error ? error.message : '')?.[1];
    problems.push({ path: '', message: `is not YAML${line === undefined ? '' : ` (line ${line})`}` });
    return undefined;
  }
}

/** The entry of a list by its name, as kubeconfigs have them: `- name: x` beside `<field>: {...}`. */
function named(root: ConfigReader, list: string, field: string, name: string | undefined, wanted: string): ConfigReader {
  const entries = root.mappings(list);
  const found = entries.find((entry) => entry.text('name') === name);
  if (name !== undefined && found !== undefined) return found.mapping(field);
  const names = entries.map((entry) => entry.text('name')).filter((other) => other !== undefined);
  const choice = names.length === 0 ? `there are no ${list}` : `it is one of ${names.join(', ')}`;
  root.report(list, name === undefined ? `the ${wanted} is not set; ${choice}` : `has no "${name}", the ${wanted}; ${choice}`);
  return new ConfigReader(undefined, list, []);
}

function readServer(cluster: ConfigReader, directory: string): ServerAccess {
  const address = cluster.text('server');
  const url = address !== undefined && URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '') {
    cluster.report('server', 'required: the address of the API server, such as https://10.0.0.1:6443');
  }
  const insecure = cluster.flag('insecure-skip-tls-verify');
  const authority = readMaterial(cluster, 'certificate-authority', directory);
  if (insecure && authority !== undefined) {
    cluster.report('insecure-skip-tls-verify', 'contradicts the certificate authority beside it; remove one of them');
  }
  const serverName = cluster.text('tls-server-name');
  const proxy = readProxy(cluster);
  return {
    url: url === undefined ? '' : `${url.origin}${url.pathname.replace(/\/+$/, '')}`,
    insecure,
    ...(authority === undefined ? {} : { authority }),
    ...(serverName === undefined ? {} : { serverName }),
    ...(proxy === undefined ? {} : { proxy }),
  };
}

function readProxy(cluster: ConfigReader): string | undefined {
  const proxy = cluster.text('proxy-url');
  if (proxy === undefined || /^https?:\/\//.test(proxy)) return proxy;
  cluster.report('proxy-url', 'must be http://host:port or https://host:port; SOCKS is not supported');
  return undefined;
}

function readUser(root: ConfigReader, name: string | undefined, cluster: ConfigReader, directory: string): UserAccess {
  if (name === undefined) return { name: '(none)', impersonate: {} };
  const user = named(root, 'users', 'user', name, 'user of the current context');
  if (user.has('auth-provider')) {
    user.report('auth-provider', 'was removed from Kubernetes (1.26); use an exec plugin, a token or a certificate');
  }
  const chain = readMaterial(user, 'client-certificate', directory);
  const key = readMaterial(user, 'client-key', directory);
  if ((chain === undefined) !== (key === undefined)) {
    user.report(chain === undefined ? 'client-certificate' : 'client-key', 'required: certificate and key belong together');
  }
  const authorization = readAuthorization(user, cluster, directory);
  return {
    name,
    impersonate: readImpersonation(user),
    ...(chain === undefined || key === undefined ? {} : { certificate: { chain, key } }),
    ...(authorization === undefined ? {} : { authorization }),
  };
}

/** `<name>-data` in base64, which counts first, or `<name>`, a path. */
function readMaterial(reader: ConfigReader, name: string, directory: string): Material | undefined {
  const data = reader.text(`${name}-data`);
  if (data !== undefined) {
    const text = Buffer.from(data, 'base64').toString('utf8');
    if (!text.includes('-----BEGIN ')) reader.report(`${name}-data`, 'is not PEM in base64');
    return { type: 'inline', text: new Redacted(text) };
  }
  const path = reader.text(name);
  return path === undefined ? undefined : { type: 'file', path: resolveIn(directory, path) };
}

function readAuthorization(user: ConfigReader, cluster: ConfigReader, directory: string): Authorization | undefined {
  const file = user.text('tokenFile');
  if (file !== undefined) return { type: 'token', token: { type: 'file', path: resolveIn(directory, file) } };
  const token = user.text('token');
  if (token !== undefined) return { type: 'token', token: { type: 'inline', text: new Redacted(token) } };
  const username = user.text('username');
  if (username !== undefined) return { type: 'basic', username, password: new Redacted(user.text('password') ?? '') };
  return user.has('exec') ? { type: 'exec', exec: readExec(user.mapping('exec'), cluster, directory) } : undefined;
}

function readExec(exec: ConfigReader, cluster: ConfigReader, directory: string): ExecPlugin {
  const command = exec.text('command') ?? '';
  if (command === '') exec.report('command', 'required: the program that prints credentials');
  const apiVersion = exec.text('apiVersion') ?? '';
  if (!EXEC_VERSIONS.includes(apiVersion)) exec.report('apiVersion', `must be ${EXEC_VERSIONS.join(' or ')}`);
  if (exec.text('interactiveMode') === 'Always') {
    exec.report('interactiveMode', 'is Always, but this program has no terminal to give away; use IfAvailable or Never');
  }
  const env = exec.mappings('env').map((entry) => [entry.text('name') ?? '', entry.text('value') ?? ''] as const);
  const installHint = exec.text('installHint');
  return {
    apiVersion,
    command: command.includes('/') ? resolveIn(directory, command) : command,
    args: exec.texts('args'),
    env: Object.fromEntries(env),
    ...(installHint === undefined ? {} : { installHint }),
    ...(exec.flag('provideClusterInfo') ? { cluster: clusterInfo(cluster) } : {}),
  };
}

/** What the API calls `spec.cluster` of an ExecCredential. */
function clusterInfo(cluster: ConfigReader): Readonly<Record<string, unknown>> {
  const names = ['server', 'tls-server-name', 'certificate-authority-data', 'proxy-url'];
  const texts = names.map((name) => [name, cluster.text(name)] as const).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(texts), 'insecure-skip-tls-verify': cluster.flag('insecure-skip-tls-verify') };
}

/** https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation */
function readImpersonation(user: ConfigReader): UserAccess['impersonate'] {
  const headers: Record<string, string | string[]> = {};
  const as = user.text('as');
  const uid = user.text('as-uid');
  const groups = user.texts('as-groups');
  if (as !== undefined) headers['impersonate-user'] = as;
  if (uid !== undefined) headers['impersonate-uid'] = uid;
  if (groups.length > 0) headers['impersonate-group'] = [...groups];
  for (const [key, values] of Object.entries(user.mapping('as-user-extra').textLists())) {
    headers[`impersonate-extra-${encodeURIComponent(key.toLowerCase())}`] = [...values];
  }
  if (as === undefined && Object.keys(headers).length > 0)
    user.report('as', 'required beside the other fields that begin with "as"');
  return headers;
}

function checkCleartext(server: ServerAccess, user: UserAccess, cluster: ConfigReader): void {
  if (!server.url.startsWith('http:') || user.authorization === undefined) return;
  if (LOOPBACK.test(new URL(server.url).hostname)) return;
  cluster.report('server', `would get the credentials of user "${user.name}" in clear text; use https`);
}

const resolveIn = (directory: string, path: string): string => (isAbsolute(path) ? path : join(directory, path));
