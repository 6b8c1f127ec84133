/** `meshctl analyze` as it is typed: stores, files, and both. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import analyze from '../../../src/commands/meshctl/analyze.ts';
import create from '../../../src/commands/meshctl/create.ts';
import { CATALOGUE } from '../../../src/meshctl/analyze/catalogue.ts';
import { type CommandRunner, commandRunner } from '../../harness/command-runner.ts';

const MESH = `apiVersion: v1
kind: Namespace
metadata: {name: foo, labels: {mesh-injection: enabled}}
---
apiVersion: v1
kind: Service
metadata: {name: httpbin, namespace: foo}
spec: {selector: {app: httpbin}, ports: [{name: http, port: 8000}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: httpbin, namespace: foo}
spec:
  replicas: 1
  selector: {matchLabels: {app: httpbin}}
  template: {metadata: {labels: {app: httpbin}}, spec: {containers: [{name: httpbin, image: httpbin}]}}
`;
const DEFAULT = `apiVersion: authentication.mesh.io/v1alpha1
kind: Policy
metadata: {name: default, namespace: foo}
spec: {peers: [{mtls: {}}]}
`;
const WRONG = `# the first line
${DEFAULT}---
apiVersion: authentication.mesh.io/v1alpha1
kind: Policy
metadata: {name: web, namespace: foo}
spec:
  targets:
  - name: httpbin
  - name: htpbin
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: foo}
spec: {template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db}]}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: i, namespace: foo}
---
apiVersion: v1
kind: Service
metadata: {name: db, namespace: foo}
spec: {selector: {app: db}, ports: [{name: tcp, port: 1}]}
`;

describe('meshctl analyze, typed', () => {
  let root: string;
  let run: CommandRunner;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'meshctl-analyze-'));
    run = commandRunner({ analyze, create }, root);
    await writeFile(join(root, 'wrong.yaml'), WRONG);
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  async function store(text: string): Promise<void> {
    await writeFile(join(root, 'objects.yaml'), text);
    await run('create', '-f', 'objects.yaml', '--orchconfig', root);
  }

  it('finds nothing wrong in a directory of manifests, and ends with 0', async () => {
    await writeFile(join(root, 'wrong.yaml'), '');
    await store(MESH);
    expect(await run('analyze', '--orchconfig', root)).to.deep.equal({ code: 0, out: 'No problems found.\n', err: '' });
  });

  it('looks at files alone, names file and line, and passes over what is none of its business', async () => {
    const { code, out, err } = await run('analyze', '-f', 'wrong.yaml');
    expect(code).to.equal(0);
    expect(out.split('\n')).to.deep.equal([
      'SEVERITY   CODE      OBJECT                           MESSAGE',
      'WARNING    MESH202   Policy foo/web (wrong.yaml:12)   spec.targets[0]: there is no service httpbin in namespace foo',
      'WARNING    MESH202   Policy foo/web (wrong.yaml:13)   spec.targets[1]: there is no service htpbin in namespace foo',
      '',
      'CODE      WHAT TO DO',
      'MESH202   correct the name, or create the service',
      '',
    ]);
    expect(err).to.equal(
      'warning: only the files are looked at; --orchconfig (or MESH_ORCHCONFIG) names the mesh that they are for\n' +
        'warning: 1 objects of other kinds are not looked at\n',
    );
  });

  it('looks at files as if they were applied, and tells what they bring about', async () => {
    const mesh = join(root, 'mesh');
    await writeFile(join(root, 'store.yaml'), `${MESH}---\n${DEFAULT.replace('default', 'older')}`);
    await mkdir(mesh);
    await run('create', '-f', 'store.yaml', '--orchconfig', mesh);
    const { code, out } = await run('analyze', '-f', 'wrong.yaml', '--orchconfig', mesh, '-o', 'json');
    const { findings } = JSON.parse(out) as { findings: readonly Record<string, unknown>[] };
    expect(code).to.equal(1);
    expect(findings.map(({ code: found, file, line }) => [found, file, line])).to.deep.equal([
      ['MESH201', 'wrong.yaml', 2],
      ['MESH202', 'wrong.yaml', 13],
    ]);
    expect(findings[0]).to.deep.include({
      severity: 'error',
      title: 'policies conflict',
      object: { kind: 'Policy', namespace: 'foo', name: 'default' },
      action: 'delete one of the two, or merge them: the older one is in force',
    });
  });

  it('tells all that is wrong with a broken file', async () => {
    await writeFile(
      join(root, 'broken.yaml'),
      `${DEFAULT}---\n${DEFAULT}---\nkind: [\n---\napiVersion: v1\nkind: Service\nmetadata: {}\n`,
    );
    const { code, out } = await run('analyze', '-f', 'broken.yaml', '-o', 'json');
    const { findings } = JSON.parse(out) as { findings: readonly Record<string, unknown>[] };
    expect(code).to.equal(1);
    expect(findings.map(({ code: found, line }) => [found, line])).to.deep.equal([
      ['MESH101', 11],
      ['MESH101', 15],
      ['MESH103', 1],
    ]);
  });

  it('asks for something to look at', async () => {
    expect((await run('analyze')).code).to.equal(2);
    expect((await run('analyze', '-f', 'nowhere.yaml')).err).to.equal('error: nowhere.yaml does not exist\n');
  });

  it('limits itself to a namespace', async () => {
    const { out } = await run('analyze', '-f', 'wrong.yaml', '-n', 'bar');
    expect(out).to.equal('No problems found.\n');
  });

  it('tries the addresses of key sets only when it is told to', async () => {
    const uri = 'http://127.0.0.1:1/keys';
    await writeFile(
      join(root, 'jwt.yaml'),
      `apiVersion: authentication.mesh.io/v1alpha1\nkind: Policy\nmetadata: {name: default, namespace: foo}\nspec: {origins: [{jwt: {issuer: i, jwksUri: "${uri}"}}]}\n`,
    );
    const codes = async (...more: readonly string[]): Promise<readonly unknown[]> => {
      const { out } = await run('analyze', '-f', 'jwt.yaml', '-o', 'json', ...more);
      return (JSON.parse(out) as { findings: readonly { code: string }[] }).findings.map(({ code }) => code);
    };
    expect(await codes()).to.deep.equal(['MESH302']);
    expect(await codes('--fetch-jwks')).to.deep.equal(['MESH306', 'MESH302']);
  });

  it('has every code in the reference, with its severity and what to do', async () => {
    const page = await readFile('docs/reference/meshctl.md', 'utf8');
    for (const [code, { severity, title, action }] of Object.entries(CATALOGUE)) {
      expect(page).to.include(`| ${code} | ${severity} | ${title} | ${action} |`);
    }
  });
});
