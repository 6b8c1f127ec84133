/** The lab as a user drives it, and what becomes of it when parts of it die. */
import { readFile, rm } from 'node:fs/promises';
import { expect } from 'chai';
import { LabUnderTest, MANIFESTS, STRICT } from '../harness/lab-under-test.ts';

describe('mesh lab', function () {
  this.timeout(240_000);
  let lab: LabUnderTest;

  /** Ends a process inside the lab without a chance to clean up. */
  async function killInside(...patterns: readonly string[]): Promise<void> {
    const found = await lab.processes(...patterns);
    expect(found, `processes of ${patterns.join(' ')}`).not.to.deep.equal([]);
    for (const pid of found) process.kill(pid, 'SIGKILL');
  }

  before(async () => {
    lab = await LabUnderTest.create();
    expect((await lab.run('up')).code).to.equal(0);
    const applied = await lab.run('apply', '-f', await lab.file('mesh.yaml', MANIFESTS));
    expect(applied.code, applied.stderr).to.equal(0);
  });

  after(() => lab.remove());

  it('is up already when it is started again', async () => {
    expect((await lab.run('up')).code).to.equal(0);
  });

  it('lists its pods and runs commands in them, with their exit code', async () => {
    const status = JSON.parse((await lab.run('status', '-o', 'json')).stdout);
    expect(JSON.stringify(status)).to.include('httpbin');
    const echo = await lab.run('exec', 'sleep.legacy', '--', 'sh', '-c', 'echo hello; exit 7');
    expect(echo).to.include({ code: 7, stdout: 'hello\n' });
  });

  it('carries calls through real sidecars, and a policy decides about them', async () => {
    await lab.eventually('200 0', 'sleep.legacy');
    await lab.eventually('200 0', 'sleep.foo');
    expect((await lab.meshctl('create', '-f', await lab.file('strict.yaml', STRICT))).code).to.equal(0);
    await lab.eventually('000 56', 'sleep.legacy');
    expect(await lab.call('sleep.foo')).to.equal('200 0');
  });

  it('refuses a half-written manifest, naming file and line, and stores nothing of it', async () => {
    const text = 'apiVersion: v1\nkind: Namespace\nmetadata: {name: half}\n---\napiVersion: v1\nkind: Serv';
    const file = await lab.file('half.yaml', text);
    const { code, stderr } = await lab.run('apply', '-f', file);
    expect(code).not.to.equal(0);
    expect(stderr).to.include(file);
    expect((await lab.meshctl('get', 'namespaces')).stdout).not.to.include('half');
  });

  it('keeps serving while discovery is killed, and follows new policies when it is back', async () => {
    await killInside('pilot-discovery discovery');
    expect(await lab.call('sleep.foo')).to.equal('200 0');
    await lab.meshctl('delete', 'policy', 'default', '-n', 'foo');
    await lab.eventually('200 0', 'sleep.legacy');
  });

  it('keeps serving while the certificate authority is killed, and gives new pods certificates when it is back', async () => {
    await killInside('mesh_ca');
    expect(await lab.call('sleep.foo')).to.equal('200 0');
    const pods = JSON.parse((await lab.meshctl('get', 'pods', '-n', 'foo', '-o', 'json')).stdout);
    const pod = pods.items.find((item: { metadata: { name: string } }) => item.metadata.name.startsWith('sleep-'));
    await lab.meshctl('delete', 'pod', pod.metadata.name, '-n', 'foo');
    await lab.eventually('200 0', 'sleep.foo');
  });

  it('has a proxy back that was killed', async () => {
    const [proxy] = await envoysOf(lab, 'httpbin');
    expect(proxy).not.to.equal(undefined);
    process.kill(proxy ?? 0, 'SIGKILL');
    while ((await envoysOf(lab, 'httpbin')).includes(proxy ?? 0));
    await lab.eventually('200 0', 'sleep.foo');
    expect(await envoysOf(lab, 'httpbin')).to.have.length(1);
  });

  it('says why a pod can never become ready, without waiting for it', async () => {
    const pod = (name: string, container: string): string =>
      `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}, namespace: legacy}\nspec: {containers: [{name: c, ${container}}]}\n`;
    const file = await lab.file('never.yaml', pod('never', 'image: nowhere/nothing'));
    const { code, stderr } = await lab.run('apply', '-f', file, '--timeout', '10m');
    expect(code).to.equal(1);
    expect(stderr).to.match(/pod legacy\/never: .*nowhere\/nothing/);
    const other = await lab.file('never.yaml', pod('never', 'image: any, command: [/no/such/program]'));
    const missing = await lab.run('apply', '-f', other, '--timeout', '10m');
    expect(missing.code).to.equal(1);
    expect(missing.stderr).to.match(/pod legacy\/never: .*its program \/no\/such\/program is not on this machine/);
    await lab.meshctl('delete', 'pod', 'never', '-n', 'legacy');
  });

  it('says why a pod is refused, makes the others, and makes it too once it is right', async () => {
    const deployment = (name: string, level: string): string => `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, namespace: foo}
spec:
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}, annotations: {sidecar.mesh.io/logLevel: '${level}'}}
    spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: sleep}]}
`;
    const apply = async (level: string) => {
      const file = await lab.file('level.yaml', deployment('at-fault', level) + deployment('right', 'info'));
      return lab.run('apply', '-f', file, '--timeout', '5m');
    };
    const refused = await apply('loud');
    expect(refused.code).to.equal(1);
    expect(refused.stderr).to.match(/never will be: deployment foo\/at-fault: .*logLevel is "loud", but must be/);
    const again = await apply('warn');
    expect(again.code, again.stderr).to.equal(0);
    expect(again.stdout).to.match(/at-fault configured\n.*right unchanged/s);
    for (const name of ['at-fault', 'right']) await lab.meshctl('delete', 'deployment', name, '-n', 'foo');
  });

  it('leaves nothing behind when it is killed, and has its pods back when it is started again', async () => {
    process.kill(await lab.initPid(), 'SIGKILL');
    while ((await lab.processes('lab daemon')).length > 0);
    expect((await lab.run('up')).code).to.equal(0);
    await lab.eventually('200 0', 'sleep.foo');
  });

  it('leaves nothing behind when it is taken down, twice without harm', async () => {
    expect((await lab.run('down')).code).to.equal(0);
    expect(await lab.processes('daemon')).to.deep.equal([]);
    expect((await lab.run('down')).code).to.equal(0);
  });

  it('ends when its directory is removed under it', async () => {
    expect((await lab.run('up')).code).to.equal(0);
    // The authority puts its root back as soon as that is missing.
    await rm(lab.dir, { recursive: true, force: true, maxRetries: 20 });
    while ((await lab.processes('daemon')).length > 0);
  });
});

/** Envoys of this lab's pods of a service cluster: children of their agents, which are children of what entered the pod. */
async function envoysOf(lab: LabUnderTest, cluster: string): Promise<readonly number[]> {
  const entered = await lab.processes('pilot-agent proxy', `--serviceCluster ${cluster}`);
  return childrenOf(await childrenOf(entered));
}

async function childrenOf(pids: readonly number[]): Promise<readonly number[]> {
  const lists = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')));
  return lists.flatMap((text) => (text.trim() === '' ? [] : text.trim().split(' ').map(Number)));
}
