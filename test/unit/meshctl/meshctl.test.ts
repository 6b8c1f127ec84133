import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { expect } from 'chai';
import apply from '../../../src/commands/meshctl/apply.ts';
import create from '../../../src/commands/meshctl/create.ts';
import remove from '../../../src/commands/meshctl/delete.ts';
import explain from '../../../src/commands/meshctl/explain.ts';
import get from '../../../src/commands/meshctl/get.ts';
import replace from '../../../src/commands/meshctl/replace.ts';
import type { MeshCommand } from '../../../src/flags/command.ts';
import { namesFor } from '../../../src/lib/names.ts';

const COMMANDS: Readonly<Record<string, MeshCommand>> = { create, replace, apply, delete: remove, get, explain };

const POLICY = `apiVersion: authentication.mesh.io/v1alpha1
kind: Policy
metadata:
  name: default
spec:
  peers:
  - mtls: {}
`;
const HTTPBIN = `apiVersion: v1
kind: Service
metadata: {name: httpbin, namespace: foo}
spec: {ports: [{name: http, port: 8000}, {name: tcp, port: 1234}]}
`;

interface Result {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

describe('meshctl', () => {
  let root: string;
  let clock: Date;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'meshctl-'));
    await mkdir(join(root, 'store'));
    clock = new Date();
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  /** Runs a command line; the store is the environment's. */
  async function run(
    line: string,
    stdin = '',
    env: Readonly<Record<string, string>> = { MESH_ORCHCONFIG: join(root, 'store') },
  ): Promise<Result> {
    const [name = '', ...argv] = line.split(' ');
    const command = COMMANDS[name];
    if (command === undefined) throw new Error(`no command ${name}`);
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    const outcome = await command.execute(argv, 'meshctl', {
      env,
      stdin: Readable.from([stdin]),
      stdout,
      stderr,
      cwd: root,
      signal: new AbortController().signal,
      names: namesFor('mesh.io'),
      now: () => clock,
    });
    const text = (stream: PassThrough): string => (stream.read() as Buffer | null)?.toString() ?? '';
    return { code: outcome.kind === 'exit' ? outcome.code : -1, out: text(stdout), err: text(stderr) };
  }

  const file = async (name: string, text: string): Promise<void> => {
    await mkdir(join(root, name, '..'), { recursive: true });
    await writeFile(join(root, name), text);
  };

  it('creates, lists, replaces and deletes a policy', async () => {
    await file('policy.yaml', POLICY);
    expect(await run('create -f policy.yaml -n foo')).to.deep.equal({
      code: 0,
      out: 'policy.authentication.mesh.io/default created\n',
      err: '',
    });
    clock = new Date(clock.getTime() + 200_000);
    expect((await run('get policies.authentication.mesh.io -n foo')).out).to.match(
      /^NAME {6}AGE\ndefault {3}3m(1[89]|2[01])s\n$/,
    );
    expect((await run('replace -f - -n foo', POLICY.replace('mtls: {}', 'mtls: {mode: PERMISSIVE}'))).out).to.equal(
      'policy.authentication.mesh.io/default replaced\n',
    );
    expect((await run('get policy default -n foo -o yaml')).out).to.include('mode: PERMISSIVE');
    expect((await run('delete policy default -n foo')).out).to.equal('policy.authentication.mesh.io "default" deleted\n');
    expect(await run('get policies.authentication.mesh.io -n foo')).to.deep.equal({
      code: 0,
      out: 'No resources found in foo namespace.\n',
      err: '',
    });
  });

  it('says create when there is nothing to replace', async () => {
    expect(await run('replace -f - -n foo', POLICY)).to.deep.equal({
      code: 1,
      out: '',
      err: 'error: standard input:1: Policy foo/default does not exist; use "create" to store it\n',
    });
  });

  it('says replace when there is something already', async () => {
    await run('create -f - -n foo', POLICY);
    const { code, err } = await run('create -f - -n foo', POLICY);
    expect(code).to.equal(1);
    expect(err).to.match(
      /^error: standard input:1: Policy foo\/default already exists \(.*default\.yaml:1\); use "replace" to change it\n$/,
    );
  });

  it('applies whatever there is', async () => {
    expect((await run('apply -f - -n foo', POLICY)).out).to.include('created');
    expect((await run('apply -f - -n foo', POLICY)).out).to.include('unchanged');
    expect((await run('apply -f - -n foo', POLICY.replace(/ {2}peers:[\s\S]*/, '  peers: []\n'))).out).to.include('configured');
    expect(JSON.parse((await run('get policy default -n foo -o json')).out).spec).to.deep.equal({ peers: [] });
  });

  it('keeps what controllers wrote', async () => {
    const given = HTTPBIN.replace('{ports', '{clusterIP: 10.96.0.7, ports').concat('status: {loadBalancer: {}}\n');
    await run('create -f -', given);
    await run('apply -f -', HTTPBIN.replace('8000', '8001'));
    const service = JSON.parse((await run('get service httpbin -n foo -o json')).out);
    expect(service.spec).to.deep.include({ clusterIP: '10.96.0.7' });
    expect(service.spec.ports[0].port).to.equal(8001);
    expect(service.status).to.deep.equal({ loadBalancer: {} });
  });

  it('refuses invalid documents with file, line, path, reason and the nearest right word, and stores nothing', async () => {
    await file('in/a.yaml', HTTPBIN);
    await file(
      'in/b.yaml',
      `${POLICY.replace('peers', 'peer')}---\n# a comment\n${POLICY.replace('kind: Policy', 'kind: Polcy')}---\n${POLICY.replace('mtls: {}', 'mtls: [')}`,
    );
    expect(await run('create -f in -n foo')).to.deep.equal({
      code: 1,
      out: '',
      err: [
        'error: in/b.yaml:6: spec.peer: unknown field; did you mean "peers"?',
        'error: in/b.yaml:11: kind: unknown kind "Polcy" of authentication.mesh.io/v1alpha1; did you mean "Policy"?',
        'error: in/b.yaml:24: not valid YAML: deficient indentation',
        'error: nothing was changed',
        '',
      ].join('\n'),
    });
    expect((await run('get services -n foo')).out).to.equal('No resources found in foo namespace.\n');
  });

  it('refuses a namespace that the manifest contradicts, and an object given twice', async () => {
    expect((await run('create -f - -n bar', HTTPBIN)).err).to.include(
      'standard input:3: metadata.namespace: the namespace "foo" is not the "bar" that was asked for',
    );
    expect((await run('create -f -', `${HTTPBIN}---\n${HTTPBIN}`)).err).to.include(
      'standard input:6: Service foo/httpbin is given twice; first at standard input:1',
    );
  });

  it('reads directories, Lists and JSON', async () => {
    await file(
      'in/list.json',
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'List',
        items: [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'foo' } }],
      }),
    );
    await file('in/policy.yml', POLICY);
    await file('in/notes.txt', 'not: [a manifest');
    expect((await run('create -f in -n foo')).out).to.equal(
      'namespace/foo created\npolicy.authentication.mesh.io/default created\n',
    );
  });

  it('warns of a policy that an older one leaves without effect', async () => {
    await run('create -f - -n foo', POLICY);
    clock = new Date(clock.getTime() + 5_000);
    const { code, err } = await run('create -f - -n foo', POLICY.replace('name: default', 'name: other'));
    expect(code).to.equal(0);
    expect(err).to.include(
      'warning: Policy foo/other has no effect on namespace foo: Policy foo/default is older and claims it too\n',
    );
    expect(err).to.include('is usually named "default"');
  });

  it('explains what a service requires and which object decided it', async () => {
    await run('create -f -', HTTPBIN);
    await run('create -f - -n foo', POLICY);
    await run(
      'create -f - -n foo',
      POLICY.replace('name: default', 'name: open').replace(
        /spec:[\s\S]*/,
        'spec: {targets: [{name: httpbin, ports: [{number: 1234}]}]}\n',
      ),
    );
    const { out } = await run('explain httpbin.foo');
    expect(out).to.match(/port 1234 .*\n {2}mutual TLS is not required[\s\S]*decided by Policy foo\/open[\s\S]*port 8000/);
    expect(out).to.match(/port 8000 .*\n {2}mutual TLS is required[\s\S]*decided by Policy foo\/default/);
    expect(JSON.parse((await run('explain httpbin tcp -n foo -o json')).out)[0].decidedBy.object).to.equal('Policy foo/open');
    expect(await run('explain htpbin.foo')).to.deep.include({
      code: 1,
      err: 'error: service htpbin.foo does not exist; did you mean "httpbin.foo"?\n',
    });
    expect((await run('explain httpbin.foo 9')).err).to.include('httpbin.foo has no port 9; it has 1234 (tcp), 8000 (http)');
  });

  for (const [type, name] of [
    ['policies', 'default'],
    ['Policy', 'default'],
    ['policy.v1alpha1.authentication.mesh.io', 'default'],
    ['svc', 'httpbin'],
    ['service/httpbin', ''],
  ] as const) {
    it(`knows the type ${type}`, async () => {
      await run('create -f - -n foo', POLICY);
      await run('create -f -', HTTPBIN);
      expect((await run(`get ${type} ${name} -n foo`.replace('  ', ' '))).out).to.match(/^NAME {6}AGE\n(default|httpbin) {3}/);
    });
  }

  it('lists every namespace, and Lists for programs', async () => {
    await run('create -f - -n foo', POLICY);
    await run('create -f - -n bar', POLICY);
    expect((await run('get policy -A')).out).to.match(
      /^NAMESPACE {3}NAME {6}AGE\nbar {9}default {3}\d+s\nfoo {9}default {3}\d+s\n$/,
    );
    expect(JSON.parse((await run('get policy -A -o json')).out)).to.deep.include({ apiVersion: 'v1', kind: 'List' });
    expect(JSON.parse((await run('get policy -n none -o json')).out)).to.deep.equal({
      apiVersion: 'v1',
      kind: 'List',
      items: [],
    });
  });

  it('tells of broken files in the store', async () => {
    await file('store/broken.yaml', 'a: [\n');
    expect((await run('get policy')).err).to.match(/^warning: .*broken\.yaml:\d+: not valid YAML: /);
  });

  it('keeps to the usual exit codes', async () => {
    expect((await run('get polcies -n foo')).code).to.equal(2);
    expect((await run('get policy nope -n foo')).code).to.equal(1);
    expect((await run('create')).code).to.equal(2);
    expect((await run('delete policy')).code).to.equal(2);
    expect((await run('create -f nope.yaml')).code).to.equal(1);
    const { code, err } = await run('get policy', '', {});
    expect(code).to.equal(2);
    expect(err).to.include('--orchconfig (or MESH_ORCHCONFIG) is required outside a cluster');
  });

  it('leaves the rest of a file alone when it changes one object of it', async () => {
    await file('store/all.yaml', `# mine\n${HTTPBIN}--- # second\n# theirs\n${POLICY}`);
    await run('replace -f -', POLICY.replace('mtls: {}', 'mtls: {mode: PERMISSIVE}'));
    const text = await readFile(join(root, 'store/all.yaml'), 'utf8');
    expect(text.startsWith(`# mine\n${HTTPBIN}--- # second\n# theirs\napiVersion: authentication.mesh.io/v1alpha1\n`)).to.equal(
      true,
    );
    expect(text).to.include('mode: PERMISSIVE');
    await run('delete policy default');
    expect(await readFile(join(root, 'store/all.yaml'), 'utf8')).to.equal(`# mine\n${HTTPBIN}`);
  });
});
