import { expect } from 'chai';
import { parseKubeconfig } from '../../../../src/io/kubernetes/kubeconfig.ts';
import { formatProblem } from '../../../../src/lib/errors.ts';
import { Redacted } from '../../../../src/lib/redacted.ts';

type Fields = Readonly<Record<string, unknown>>;

const PEM = '-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n';
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A kubeconfig with these fields of its cluster and its user. */
function config(cluster: Fields = {}, user: Fields = {}, root: Fields = {}): string {
  return JSON.stringify({
    'current-context': 'here',
    contexts: [
      { name: 'there', context: { cluster: 'other', user: 'nobody' } },
      { name: 'here', context: { cluster: 'mine', user: 'me' } },
    ],
    clusters: [
      { name: 'other', cluster: { server: 'https://other:6443' } },
      { name: 'mine', cluster: { server: 'https://api:6443', ...cluster } },
    ],
    users: [{ name: 'me', user }],
    ...root,
  });
}

function read(text: string): unknown {
  const parsed = parseKubeconfig(text, '/etc/kube');
  return parsed.ok ? parsed.value : parsed.problems.map(formatProblem);
}

function userOf(user: Fields, cluster: Fields = {}): unknown {
  return (read(config(cluster, user)) as Fields).user;
}

function serverOf(cluster: Fields): unknown {
  return (read(config(cluster)) as Fields).server;
}

/** The same with each secret in the open, for comparisons. */
function revealed(value: unknown): unknown {
  if (value instanceof Redacted) return { secret: value.reveal() };
  if (Array.isArray(value) || typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, revealed(inner)]));
}

describe('kubeconfig', () => {
  it('gives server and user of the current context', () => {
    expect(read(config())).to.deep.equal({
      server: { url: 'https://api:6443', insecure: false },
      user: { name: 'me', impersonate: {} },
    });
  });

  it('reads YAML', () => {
    const text = [
      'current-context: c',
      'contexts: [{name: c, context: {cluster: k, user: u}}]',
      'clusters: [{name: k, cluster: {server: "https://h:1/path/"}}]',
      'users:',
      '- name: u',
      '  user: {tokenFile: token}',
    ].join('\n');
    expect(read(text)).to.deep.equal({
      server: { url: 'https://h:1/path', insecure: false },
      user: { name: 'u', impersonate: {}, authorization: { type: 'token', token: { type: 'file', path: '/etc/kube/token' } } },
    });
  });

  const SERVERS: readonly (readonly [string, Fields, Fields])[] = [
    [
      'takes data before a file',
      { 'certificate-authority-data': base64(PEM), 'certificate-authority': 'ca.crt' },
      { authority: { type: 'inline', text: '[redacted]' } },
    ],
    [
      'resolves files beside itself',
      { 'certificate-authority': 'ca.crt' },
      { authority: { type: 'file', path: '/etc/kube/ca.crt' } },
    ],
    ['leaves absolute files', { 'certificate-authority': '/ca.crt' }, { authority: { type: 'file', path: '/ca.crt' } }],
    ['believes any server if told to', { 'insecure-skip-tls-verify': true }, { insecure: true }],
    ['takes the name to expect', { 'tls-server-name': 'kubernetes' }, { serverName: 'kubernetes' }],
    ['takes a proxy', { 'proxy-url': 'http://proxy:3128' }, { proxy: 'http://proxy:3128' }],
    ['counts an empty text as nothing', { 'certificate-authority-data': '', 'tls-server-name': '' }, {}],
  ];
  for (const [title, cluster, expected] of SERVERS) {
    it(title, () => {
      const server = JSON.parse(JSON.stringify(serverOf(cluster)));
      expect(server).to.deep.equal({ url: 'https://api:6443', insecure: false, ...expected });
    });
  }

  const secret = (text: string): Fields => ({ type: 'inline', text: { secret: text } });
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: 'bin/login',
    args: ['a'],
    env: [{ name: 'X', value: '1' }],
  };
  const USERS: readonly (readonly [string, Fields, Fields])[] = [
    ['a token', { token: 'abc' }, { authorization: { type: 'token', token: secret('abc') } }],
    [
      'a token file before a token',
      { token: 'abc', tokenFile: '/t' },
      { authorization: { type: 'token', token: { type: 'file', path: '/t' } } },
    ],
    [
      'a password',
      { username: 'u', password: 'p' },
      { authorization: { type: 'basic', username: 'u', password: { secret: 'p' } } },
    ],
    [
      'a certificate in the file',
      { 'client-certificate-data': base64(PEM), 'client-key-data': base64(PEM) },
      { certificate: { chain: secret(PEM), key: secret(PEM) } },
    ],
    [
      'a certificate in other files',
      { 'client-certificate': 'a.crt', 'client-key': 'a.key' },
      { certificate: { chain: { type: 'file', path: '/etc/kube/a.crt' }, key: { type: 'file', path: '/etc/kube/a.key' } } },
    ],
    [
      'a plugin',
      { exec },
      {
        authorization: {
          type: 'exec',
          exec: { apiVersion: exec.apiVersion, command: '/etc/kube/bin/login', args: ['a'], env: { X: '1' } },
        },
      },
    ],
    [
      'somebody to act for',
      { as: 'jane', 'as-uid': '7', 'as-groups': ['a', 'b'], 'as-user-extra': { 'Scopes/x': ['s'] } },
      {
        impersonate: {
          'impersonate-user': 'jane',
          'impersonate-uid': '7',
          'impersonate-group': ['a', 'b'],
          'impersonate-extra-scopes%2Fx': ['s'],
        },
      },
    ],
  ];
  for (const [title, user, expected] of USERS) {
    it(`takes ${title}`, () => expect(revealed(userOf(user))).to.deep.equal({ name: 'me', impersonate: {}, ...expected }));
  }

  it('tells a plugin of the cluster where that is wanted', () => {
    const user = userOf({ exec: { ...exec, provideClusterInfo: true } }, { 'tls-server-name': 'k' });
    expect(user).to.have.nested.property('authorization.exec.cluster').that.deep.equals({
      server: 'https://api:6443',
      'tls-server-name': 'k',
      'insecure-skip-tls-verify': false,
    });
  });

  const PROBLEMS: readonly (readonly [string, string, readonly string[]])[] = [
    ['a text that is no YAML', 'users: [{token: s3cret\n', ['is not YAML (line 2)']],
    ['a list', '[]', ['must be a mapping']],
    ['nothing', '', ['is empty']],
    [
      'a mapping of nothing',
      '{}',
      [
        'contexts: the current-context is not set; there are no contexts',
        'clusters: the cluster of the current context is not set; there are no clusters',
      ],
    ],
    [
      'a context that is not there',
      config({}, {}, { 'current-context': 'x' }),
      ['contexts: has no "x", the current-context; it is one of there, here'],
    ],
    [
      'a cluster without a server',
      config({ server: '' }),
      ['clusters[1].cluster.server: required: the address of the API server, such as https://10.0.0.1:6443'],
    ],
    [
      'a server of another protocol',
      config({ server: 'ftp://x' }),
      ['clusters[1].cluster.server: required: the address of the API server, such as https://10.0.0.1:6443'],
    ],
    [
      'a user that is not there',
      config({}, {}, { users: [] }),
      ['users: has no "me", the user of the current context; there are no users'],
    ],
    [
      'data that is no PEM',
      config({ 'certificate-authority-data': base64('x') }),
      ['clusters[1].cluster.certificate-authority-data: is not PEM in base64'],
    ],
    [
      'a certificate without its key',
      config({}, { 'client-certificate': 'a' }),
      ['users[0].user.client-key: required: certificate and key belong together'],
    ],
    ['a token that YAML reads as a number', config({}, { token: 17 }), ['users[0].user.token: must be a text']],
    [
      'an authority that is not asked',
      config({ 'insecure-skip-tls-verify': true, 'certificate-authority': 'a' }),
      ['clusters[1].cluster.insecure-skip-tls-verify: contradicts the certificate authority beside it; remove one of them'],
    ],
    [
      'a SOCKS proxy',
      config({ 'proxy-url': 'socks5://x' }),
      ['clusters[1].cluster.proxy-url: must be http://host:port or https://host:port; SOCKS is not supported'],
    ],
    [
      'an old provider',
      config({}, { 'auth-provider': { name: 'gcp' } }),
      ['users[0].user.auth-provider: was removed from Kubernetes (1.26); use an exec plugin, a token or a certificate'],
    ],
    [
      'a plugin of an old version',
      config({}, { exec: { ...exec, apiVersion: 'client.authentication.k8s.io/v1alpha1' } }),
      ['users[0].user.exec.apiVersion: must be client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1'],
    ],
    [
      'a plugin that must have a terminal',
      config({}, { exec: { ...exec, interactiveMode: 'Always' } }),
      ['users[0].user.exec.interactiveMode: is Always, but this program has no terminal to give away; use IfAvailable or Never'],
    ],
    [
      'groups of nobody',
      config({}, { 'as-groups': ['a'] }),
      ['users[0].user.as: required beside the other fields that begin with "as"'],
    ],
    [
      'a token in clear text',
      config({ server: 'http://api:8080' }, { token: 'abc' }),
      ['clusters[1].cluster.server: would get the credentials of user "me" in clear text; use https'],
    ],
  ];
  for (const [title, text, expected] of PROBLEMS) {
    it(`refuses ${title}`, () => {
      const problems = read(text) as readonly string[];
      expect(problems).to.include.members([...expected]);
    });
  }

  it('lets a token go to the own machine', () => {
    expect(read(config({ server: 'http://127.0.0.1:8001' }, { token: 'abc' }))).to.have.property('server');
  });
});
