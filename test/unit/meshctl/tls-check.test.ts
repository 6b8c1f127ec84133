import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import create from '../../../src/commands/meshctl/create.ts';
import tlsCheck from '../../../src/commands/meshctl/tls-check.ts';
import { type CommandRunner, commandRunner } from '../../harness/command-runner.ts';

const SIDECAR = `annotations: {sidecar.mesh.io/status: '{"version":"1"}'}, `;
const pod = (name: string, namespace: string, app: string, sidecar: string, more = ''): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}, namespace: ${namespace}, ${sidecar}labels: {app: ${app}${more}}}\nspec: {containers: [{name: a}]}\n`;
const service = (name: string, namespace: string, app: string, ports: string): string =>
  `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}, namespace: ${namespace}}\nspec: {selector: {app: ${app}}, ports: [${ports}]}\n`;
const policy = (name: string, namespace: string, spec: string): string =>
  `apiVersion: authentication.mesh.io/v1alpha1\nkind: Policy\nmetadata: {name: ${name}, namespace: ${namespace}}\nspec: ${spec}\n`;

const MESH = [
  service('httpbin', 'foo', 'httpbin', '{name: http, port: 8000}, {name: tcp, port: 9000}, {name: dns, port: 53, protocol: UDP}'),
  service('mixed', 'foo', 'mixed', '{name: http, port: 80}'),
  service('none', 'foo', 'none', '{name: http, port: 80}'),
  service('plain', 'legacy', 'plain', '{name: http, port: 80}'),
  pod('httpbin-6d9f5bcb4d-x2vnk', 'foo', 'httpbin', SIDECAR),
  pod('mixed-1', 'foo', 'mixed', SIDECAR),
  pod('mixed-2', 'foo', 'mixed', ''),
  pod('plain-1', 'legacy', 'plain', ''),
  pod('sleep-6d9f5bcb4d-aaaaa', 'legacy', 'sleep', ''),
  policy('p', 'foo', '{targets: [{name: httpbin, ports: [{number: 8000}]}], peers: [{mtls: {}}]}'),
].join('---\n');

describe('meshctl tls-check', () => {
  let root: string;
  let run: CommandRunner;

  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'meshctl-tls-'));
    await mkdir(join(root, 'store'));
    run = commandRunner({ create, 'tls-check': tlsCheck }, root, { MESH_ORCHCONFIG: join(root, 'store') });
    await writeFile(join(root, 'mesh.yaml'), MESH);
    await run('create', '-f', 'mesh.yaml');
  });
  after(() => rm(root, { recursive: true, force: true }));

  const rows = async (...args: readonly string[]): Promise<readonly string[]> =>
    (await run('tls-check', ...args)).out.split('\n').map((line) => line.replace(/ {2,}/g, ' | '));

  it('lists what ports take and callers with a sidecar send', async () => {
    expect(await rows()).to.deep.equal([
      'HOST:PORT | STATUS | SERVER | CLIENT | AUTHN-POLICY | DESTINATION-RULE',
      'httpbin.foo.svc.cluster.local:8000 | OK | mTLS | mTLS | Policy foo/p | -',
      'httpbin.foo.svc.cluster.local:9000 | OK | HTTP/mTLS | mTLS | mesh configuration | -',
      'mixed.foo.svc.cluster.local:80 | OK | HTTP/mTLS | mTLS | mesh configuration | -',
      'mixed.foo.svc.cluster.local:80 | OK | HTTP | HTTP | mesh configuration | -',
      'none.foo.svc.cluster.local:80 | OK | HTTP/mTLS | - | mesh configuration | -',
      'plain.legacy.svc.cluster.local:80 | OK | HTTP | HTTP | mesh configuration | -',
      '',
    ]);
  });

  it('tells what one pod meets, and why', async () => {
    expect(await rows('sleep.legacy', 'httpbin.foo')).to.deep.equal([
      'HOST:PORT | STATUS | SERVER | CLIENT | AUTHN-POLICY | DESTINATION-RULE',
      'httpbin.foo.svc.cluster.local:8000 | CONFLICT | mTLS | HTTP | Policy foo/p | -',
      'httpbin.foo.svc.cluster.local:9000 | OK | HTTP/mTLS | HTTP | mesh configuration | -',
      '',
      'httpbin.foo.svc.cluster.local:8000: mutual TLS is required, and the caller has no sidecar: its connections are reset',
      '',
    ]);
    expect((await run('tls-check', 'sleep.legacy')).err).to.equal(
      'warning: calls of pod sleep-6d9f5bcb4d-aaaaa.legacy, which has no sidecar\n',
    );
    expect(await rows('mixed-1', '-n', 'foo')).to.have.lengthOf(8);
  });

  it('tells what files would do', async () => {
    await writeFile(join(root, 'strict.yaml'), policy('default', 'legacy', '{peers: [{mtls: {}}]}'));
    expect(await rows('plain.legacy', '-f', 'strict.yaml')).to.deep.equal([
      'HOST:PORT | STATUS | SERVER | CLIENT | AUTHN-POLICY | DESTINATION-RULE',
      'plain.legacy.svc.cluster.local:80 | CONFLICT | HTTP | HTTP | Policy legacy/default | -',
      '',
      'plain.legacy.svc.cluster.local:80: mutual TLS is required, but the pods have no sidecar that could ask for it',
      '',
    ]);
  });

  it('takes full names, limits itself to a namespace, and prints for programs', async () => {
    expect(await rows('httpbin.foo.svc.cluster.local')).to.have.lengthOf(4);
    expect(await rows('-n', 'legacy')).to.have.lengthOf(3);
    const { out } = await run('tls-check', 'plain.legacy', '-o', 'json');
    expect(JSON.parse(out)).to.deep.equal([
      {
        host: 'plain.legacy.svc.cluster.local',
        port: 80,
        status: 'OK',
        server: 'HTTP',
        client: 'HTTP',
        policy: 'mesh configuration',
      },
    ]);
    expect((await run('tls-check', 'plain.legacy', '-o', 'yaml')).out).to.include('status: OK');
  });

  it('says what there is none of', async () => {
    expect(await run('tls-check', 'plane.legacy')).to.deep.equal({
      code: 1,
      out: '',
      err: 'error: there is no service and no pod plane.legacy; did you mean "plain.legacy"?\n',
    });
    expect((await run('tls-check', 'a.b', '-n', 'c')).code).to.equal(2);
  });
});
