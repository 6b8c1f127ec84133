/** A server that speaks first, behind real redirection and real sidecars. */
import { expect } from 'chai';
import { LabUnderTest, MANIFESTS } from '../harness/lab-under-test.ts';

const GREETING = '5.7.0 ready';
const SERVER = `require("node:net").createServer((socket) => socket.end("${GREETING}\\n")).listen(3306)`;

const DATABASE = `
apiVersion: v1
kind: Service
metadata: {name: db, namespace: foo}
spec: {selector: {app: db}, ports: [{name: mysql, port: 3306}]}
---
apiVersion: v1
kind: Service
metadata: {name: db-each, namespace: foo}
spec: {clusterIP: None, selector: {app: db}, ports: [{name: mysql, port: 3306}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: db, namespace: foo}
spec:
  replicas: 1
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: db, image: db, command: ${JSON.stringify([process.execPath, '-e', SERVER])}}]
`;

const STRICT_DATABASE = `
apiVersion: authentication.mesh.io/v1alpha1
kind: Policy
metadata: {name: db, namespace: foo}
spec: {targets: [{name: db}, {name: db-each}], peers: [{mtls: {}}]}
`;

describe('a server that speaks first, in the lab', function () {
  this.timeout(180_000);
  let lab: LabUnderTest;

  /** What a client hears that says nothing itself. */
  const hear = async (client: string, host: string): Promise<string> => {
    const script = `exec 3<>/dev/tcp/${host}/3306; read -t 20 -u 3 line; echo "$line"`;
    return (await lab.run('exec', client, '--', 'bash', '-c', script)).stdout.trim();
  };
  const hears = async (text: string, client: string, host: string): Promise<void> => {
    while ((await hear(client, host)) !== text);
  };
  const counted = async (name: string): Promise<number> => {
    const url = `http://127.0.0.1:15000/stats?filter=${name}`;
    const { stdout } = await lab.run('exec', 'db.foo', '--', 'curl', '-s', url);
    return [...stdout.matchAll(/: (\d+)$/gm)].reduce((sum, [, value]) => sum + Number(value), 0);
  };

  before(async () => {
    lab = await LabUnderTest.create();
    expect((await lab.run('up')).code).to.equal(0);
    const applied = await lab.run('apply', '-f', await lab.file('mesh.yaml', `${MANIFESTS}---${DATABASE}`));
    expect(applied.code, applied.stderr).to.equal(0);
  });

  after(() => lab.remove());

  it('is heard without a wait by who has no sidecar, and by mutual TLS by who has one', async () => {
    await hears(GREETING, 'sleep.legacy', 'db.foo');
    const before = await counted('15006.ssl.handshake');
    await hears(GREETING, 'sleep.foo', 'db.foo');
    expect(await counted('15006.ssl.handshake')).to.be.greaterThan(before);
    expect(await counted('downstream_pre_cx_timeout'), 'connections whose first bytes were waited for').to.equal(0);
  });

  it('is heard at its own address too', async () => {
    const pods = JSON.parse((await lab.meshctl('get', 'pods', '-n', 'foo', '-o', 'json')).stdout);
    const pod = pods.items.find((item: { metadata: { name: string } }) => item.metadata.name.startsWith('db-'));
    const before = await counted('15006.ssl.handshake');
    await hears(GREETING, 'sleep.foo', pod.status.podIP);
    expect(await counted('15006.ssl.handshake')).to.be.greaterThan(before);
  });

  it('is heard by the mesh alone where mutual TLS is required', async () => {
    const { code, stderr } = await lab.meshctl('create', '-f', await lab.file('strict.yaml', STRICT_DATABASE));
    expect(code, stderr).to.equal(0);
    await hears('', 'sleep.legacy', 'db.foo');
    expect(await hear('sleep.foo', 'db.foo')).to.equal(GREETING);
  });
});
