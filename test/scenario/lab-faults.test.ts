/** What goes wrong around a lab: keys that do not come, ports that are taken, files that are broken, a second lab. */
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { LabUnderTest, MANIFESTS, type Result, STRICT } from '../harness/lab-under-test.ts';

const JWKS = `
apiVersion: v1
kind: Namespace
metadata: {name: auth}
---
apiVersion: v1
kind: Service
metadata: {name: jwks, namespace: auth}
spec: {selector: {app: jwks}, ports: [{name: http, port: 8000}]}
---
apiVersion: v1
kind: Pod
metadata: {name: jwks, namespace: auth, labels: {app: jwks}}
spec: {terminationGracePeriodSeconds: 1, containers: [{name: jwks, image: jwks, ports: [{containerPort: 8000}]}]}
`;
const KEYS = 'http://jwks.auth.svc.cluster.local:8000';

const JWT = `
apiVersion: authentication.mesh.io/v1alpha1
kind: Policy
metadata: {name: jwt, namespace: foo}
spec:
  targets: [{name: httpbin}]
  origins: [{jwt: {issuer: '${KEYS}', jwksUri: '${KEYS}/jwks'}}]
`;

describe('around a lab', function () {
  this.timeout(240_000);
  let lab: LabUnderTest;

  before(async () => {
    lab = await LabUnderTest.create();
    expect((await lab.run('up')).code).to.equal(0);
    const applied = await lab.run('apply', '-f', await lab.file('mesh.yaml', `${MANIFESTS}---\n${JWKS}`));
    expect(applied.code, applied.stderr).to.equal(0);
  });

  after(() => lab.remove());

  const inLegacy = (...curl: readonly string[]): Promise<Result> => lab.run('exec', 'sleep.legacy', '--', 'curl', '-s', ...curl);

  describe('a server of keys', () => {
    let token: string;
    const become = (mode: string): Promise<Result> => inLegacy('-X', 'POST', `${KEYS}/fault?mode=${mode}`);
    /** Calls until the answer has been the expected one ten times in a row: connections between proxies from before carry calls until they are drained. */
    const settled = async (expected: string, ...options: readonly string[]): Promise<void> => {
      for (let times = 0; times < 10; ) {
        times = (await lab.call('sleep.foo', 'http://httpbin.foo:8000/ip', ...options)) === expected ? times + 1 : 0;
      }
    };
    const withToken = (expected: string): Promise<void> => settled(expected, '-H', `Authorization: Bearer ${token}`);
    const jwtPolicy = async (command: 'create' | 'delete'): Promise<void> => {
      const { code, stderr } = await lab.meshctl(command, '-f', await lab.file('jwt.yaml', JWT));
      expect(code, stderr).to.equal(0);
    };

    before(async () => {
      token = (await inLegacy(`${KEYS}/token`)).stdout.trim();
    });

    it('that is down at first closes the service, until it is up', async () => {
      await become('down');
      await jwtPolicy('create');
      await withToken('401 0');
      await become('none');
      await withToken('200 0');
      await settled('401 0');
    });

    it('that turns bad leaves its last good keys in force', async () => {
      await become('garbage');
      await jwtPolicy('delete');
      await settled('200 0');
      await jwtPolicy('create');
      await settled('401 0');
      await withToken('200 0');
      await jwtPolicy('delete');
    });
  });

  it('a policy file that breaks keeps its last good content in force, and the log says file and line', async () => {
    const file = join(lab.dir, 'store', 'by-hand.yaml');
    /** Whole: a file that is still empty is a good one, without a policy. */
    const put = async (text: string): Promise<void> => {
      await writeFile(`${file}.new`, text);
      await rename(`${file}.new`, file);
    };
    await put(STRICT);
    await lab.eventually('000 56', 'sleep.legacy');
    await put(STRICT.replace('peers', 'peer'));
    const logged = async (): Promise<string> => (await lab.run('logs', 'pilot-discovery')).stdout;
    while (!(await logged()).includes(`${file}:5`));
    expect(await logged()).to.contain('did you mean \\"peers\\"?');
    expect(await lab.call('sleep.legacy')).to.equal('000 56');
    await put('# nothing\n');
    await lab.eventually('200 0', 'sleep.legacy');
  });

  it('an application and a sidecar that want one port: the one that comes second says so', async () => {
    const thief = `apiVersion: v1
kind: Pod
metadata: {name: thief, namespace: foo}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: thief, image: httpbin, args: ['--port', '15020']}]
`;
    await lab.run('apply', '-f', await lab.file('thief.yaml', thief), '--timeout', '2s');
    const logs = async (): Promise<string> =>
      (await lab.run('logs', 'thief.foo', '-c', 'thief')).stdout +
      (await lab.run('logs', 'thief.foo', '-c', 'mesh-proxy')).stdout;
    while (
      !/cannot listen on .*:15020: the address is in use; stop what listens there or choose another port/.test(await logs())
    );
    await lab.meshctl('delete', 'pod', 'thief', '-n', 'foo');
  });

  it('another lab has the same addresses and does not meet it', async () => {
    const other = await LabUnderTest.create();
    try {
      expect((await other.run('up')).code).to.equal(0);
      const applied = await other.run('apply', '-f', await other.file('mesh.yaml', MANIFESTS));
      expect(applied.code, applied.stderr).to.equal(0);
      await other.meshctl('create', '-f', await other.file('strict.yaml', STRICT));
      await other.eventually('000 56', 'sleep.legacy');
      expect(await lab.call('sleep.legacy')).to.equal('200 0');
    } finally {
      await other.remove();
    }
    expect(await lab.call('sleep.foo')).to.equal('200 0');
  });
});
