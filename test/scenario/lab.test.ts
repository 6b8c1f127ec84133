/** The lab as a user drives it, and what becomes of it when parts of it die. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const MESH = fileURLToPath(new URL('../../bin/mesh', import.meta.url));

interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function mesh(...args: readonly string[]): Promise<Result> {
  return new Promise((resolve) => {
    execFile(MESH, [...args], { maxBuffer: 1 << 24 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
  });
}

const MANIFESTS = `
apiVersion: v1
kind: Namespace
metadata: {name: foo, labels: {mesh-injection: enabled}}
---
apiVersion: v1
kind: Namespace
metadata: {name: legacy}
---
apiVersion: v1
kind: Service
metadata: {name: httpbin, namespace: foo}
spec: {selector: {app: httpbin}, ports: [{name: http, port: 8000}]}
${['httpbin:foo', 'sleep:foo', 'sleep:legacy']
  .map((pair) => pair.split(':'))
  .map(
    ([name, namespace]) => `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, namespace: ${namespace}}
spec:
  replicas: 1
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec: {terminationGracePeriodSeconds: 1, containers: [{name: ${name}, image: ${name}}]}
`,
  )
  .join('')}`;

const STRICT = `
apiVersion: authentication.mesh.io/v1alpha1
kind: Policy
metadata: {name: default, namespace: foo}
spec: {peers: [{mtls: {}}]}
`;

/** Command lines of all processes of this machine that name a directory. */
async function processesOf(dir: string): Promise<readonly string[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(ids.map((id) => readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')));
  return lines.filter((line) => line.includes(dir)).map((line) => line.replaceAll('\0', ' '));
}

describe('mesh lab', function () {
  this.timeout(120_000);
  let dir: string;
  const lab = (command: string, ...args: readonly string[]): Promise<Result> => mesh('lab', command, '--dir', dir, ...args);

  /** What curl in a pod says of httpbin.foo: status, then exit code. */
  async function call(client: string): Promise<string> {
    const curl = ['curl', '-s', '-o', '/dev/null', '--max-time', '5', '-w', '%{http_code}', 'http://httpbin.foo:8000/ip'];
    const { code, stdout } = await lab('exec', client, '--', ...curl);
    return `${stdout} ${code}`;
  }

  async function eventually(client: string, expected: string): Promise<void> {
    while ((await call(client)) !== expected);
  }

  /** Ends a process inside the lab without a chance to clean up. */
  async function killInside(pattern: string): Promise<void> {
    const all = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    let killed = 0;
    for (const id of all) {
      const line = (await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ');
      if (!line.includes(pattern) || !line.includes(dir)) continue;
      process.kill(Number(id), 'SIGKILL');
      killed += 1;
    }
    expect(killed, `processes of ${pattern}`).to.be.greaterThan(0);
  }

  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'mesh-lab-'));
    await writeFile(join(dir, 'mesh.yaml'), MANIFESTS);
    await writeFile(join(dir, 'strict.yaml'), STRICT);
    expect((await lab('up')).code).to.equal(0);
    const applied = await lab('apply', '-f', join(dir, 'mesh.yaml'));
    expect(applied.code, applied.stderr).to.equal(0);
  });

  after(async () => {
    await lab('down');
    await rm(dir, { recursive: true, force: true });
  });

  it('is up already when it is started again', async () => {
    expect((await lab('up')).code).to.equal(0);
  });

  it('lists its pods and runs commands in them, with their exit code', async () => {
    const status = JSON.parse((await lab('status', '-o', 'json')).stdout);
    expect(JSON.stringify(status)).to.include('httpbin');
    expect(await lab('exec', 'sleep.legacy', '--', 'sh', '-c', 'echo hello; exit 7')).to.include({ code: 7, stdout: 'hello\n' });
  });

  it('carries calls through real sidecars, and a policy decides about them', async () => {
    await eventually('sleep.legacy', '200 0');
    await eventually('sleep.foo', '200 0');
    expect((await mesh('meshctl', 'create', '--orchconfig', join(dir, 'store'), '-f', join(dir, 'strict.yaml'))).code).to.equal(
      0,
    );
    await eventually('sleep.legacy', '000 56');
    expect(await call('sleep.foo')).to.equal('200 0');
  });

  it('refuses a half-written manifest, naming file and line, and stores nothing of it', async () => {
    const file = join(dir, 'half.yaml');
    await writeFile(file, 'apiVersion: v1\nkind: Namespace\nmetadata: {name: half}\n---\napiVersion: v1\nkind: Serv');
    const { code, stderr } = await lab('apply', '-f', file);
    expect(code).not.to.equal(0);
    expect(stderr).to.include(file);
    expect((await mesh('meshctl', 'get', 'namespaces', '--orchconfig', join(dir, 'store'))).stdout).not.to.include('half');
  });

  it('keeps serving while discovery is killed, and follows new policies when it is back', async () => {
    await killInside('pilot-discovery discovery');
    expect(await call('sleep.foo')).to.equal('200 0');
    await mesh('meshctl', 'delete', 'policy', 'default', '-n', 'foo', '--orchconfig', join(dir, 'store'));
    await eventually('sleep.legacy', '200 0');
  });

  it('keeps serving while the certificate authority is killed, and gives new pods certificates when it is back', async () => {
    await killInside('mesh_ca');
    expect(await call('sleep.foo')).to.equal('200 0');
    const pods = JSON.parse(
      (await mesh('meshctl', 'get', 'pods', '-n', 'foo', '-o', 'json', '--orchconfig', join(dir, 'store'))).stdout,
    );
    const pod = pods.items.find((item: { metadata: { name: string } }) => item.metadata.name.startsWith('sleep-'));
    await mesh('meshctl', 'delete', 'pod', pod.metadata.name, '-n', 'foo', '--orchconfig', join(dir, 'store'));
    await eventually('sleep.foo', '200 0');
  });

  it('leaves nothing behind when it is killed, and has its pods back when it is started again', async () => {
    const { init } = JSON.parse(await readFile(join(dir, 'run/lab.json'), 'utf8'));
    process.kill(init.pid, 'SIGKILL');
    while ((await processesOf(dir)).some((line) => line.includes('lab daemon')));
    expect((await lab('up')).code).to.equal(0);
    await eventually('sleep.foo', '200 0');
  });

  it('leaves nothing behind when it is taken down, twice without harm', async () => {
    expect((await lab('down')).code).to.equal(0);
    expect((await processesOf(dir)).filter((line) => line.includes('daemon'))).to.deep.equal([]);
    expect((await lab('down')).code).to.equal(0);
  });
});
