import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:tls';
import { expect } from 'chai';
import { createCsr } from '../../src/io/x509/csr.ts';
import { generateKeyPair, privateKeyPem } from '../../src/io/x509/key.ts';
import { seconds } from '../../src/lib/duration.ts';
import { MeshError } from '../../src/lib/errors.ts';
import { namesFor } from '../../src/lib/names.ts';
import { authorityObjects } from '../../src/meshctl/install/authority.ts';
import { CaProcess, createCertificate } from '../harness/ca-process.ts';
import { openssl } from '../harness/certificates.ts';
import { requireCluster, type TestCluster } from '../harness/cluster.ts';
import { eventually, kubeconfigOf, readEntries, readSecret, type Stored, tokenOf } from '../harness/cluster-account.ts';

const SYSTEM = 'ca-system';
const NS = 'ca-apps';
const ACCOUNT = { namespace: SYSTEM, name: 'mesh-citadel-service-account' };

describe('mesh_ca on a real API server', function () {
  this.timeout(240_000);
  let cluster: TestCluster;
  let kubeconfig: string;
  const running = new Set<CaProcess>();

  before(async function () {
    cluster = await requireCluster(this);
    for (const name of [SYSTEM, NS]) cluster.kubectl(['create', 'namespace', name]);
    const objects = authorityObjects({ names: namesFor('mesh.io'), namespace: SYSTEM, image: 'mesh', replicas: 1 });
    kubeconfig = kubeconfigOf(cluster, objects, ACCOUNT);
  });
  afterEach(async () => {
    await Promise.all([...running].map((ca) => ca.stop()));
    running.clear();
  });
  after(() => {
    for (const name of [SYSTEM, NS]) cluster?.kubectl(['delete', 'namespace', name, '--wait=false']);
  });

  /** As its own service account, with the rights of the printed manifests and no others. */
  async function start(options: Readonly<Record<string, unknown>> = {}): Promise<CaProcess> {
    const given = { 'orch-config': kubeconfig, 'self-signed-ca': true, 'citadel-storage-namespace': SYSTEM };
    const ca = await CaProcess.start({ ...given, 'listened-namespace': NS, ...options });
    running.add(ca);
    return ca;
  }
  async function stop(ca: CaProcess): Promise<void> {
    running.delete(ca);
    await ca.stop();
  }

  const secretOf = (account: string): Promise<Stored> => eventually(() => readSecret(cluster, NS, `mesh.${account}`));
  /** The Secret once it is another version than before. */
  const changed = (account: string, before: Stored): Promise<Stored> =>
    eventually(() => {
      const now = readSecret(cluster, NS, `mesh.${account}`);
      return now !== undefined && now.resourceVersion !== before.resourceVersion && isWhole(now) ? now : undefined;
    });
  const rootSecret = (): Stored | undefined => readSecret(cluster, SYSTEM, 'mesh-ca-secret');

  /** Whether openssl verifies the certificate with the Secret's own roots, the key is its, and the name the account's. */
  function isWhole(secret: Stored): boolean {
    const account = secret.object.metadata.name.replace('mesh.', '');
    const files = {
      'leaf.pem': secret.text('cert-chain.pem'),
      'roots.pem': secret.text('root-cert.pem'),
    };
    try {
      const verified = openssl(files, 'verify', '-CAfile', 'roots.pem', '-untrusted', 'leaf.pem', 'leaf.pem');
      const leaf = new X509Certificate(secret.text('cert-chain.pem'));
      const isNamed = leaf.subjectAltName === `URI:spiffe://cluster.local/ns/${NS}/sa/${account}`;
      return isNamed && verified === 'leaf.pem: OK\n' && leaf.checkPrivateKey(createPrivateKey(secret.text('key.pem')));
    } catch {
      return false;
    }
  }

  const namesIn = (secret: Stored): string => new X509Certificate(secret.text('cert-chain.pem')).subjectAltName ?? '';
  const patch = (account: string, data: Readonly<Record<string, string>>): void => {
    const encoded = Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]));
    cluster.kubectl(['patch', 'secret', `mesh.${account}`, '-n', NS, '--type=merge', '-p', JSON.stringify({ data: encoded })]);
  };

  it('gives every service account a Secret with its key and certificate, and takes it away with the account', async () => {
    await start();
    cluster.kubectl(['create', 'serviceaccount', 'web', '-n', NS]);
    const secret = await secretOf('web');
    expect(secret.object['type']).to.equal('mesh.io/key-and-cert');
    expect(Object.keys(secret.object['data'] as object).sort()).to.deep.equal(['cert-chain.pem', 'key.pem', 'root-cert.pem']);
    expect(isWhole(secret)).to.equal(true);
    const leaf = new X509Certificate(secret.text('cert-chain.pem'));
    expect([leaf.subjectAltName, leaf.publicKey.asymmetricKeyDetails?.modulusLength]).to.deep.equal([
      `URI:spiffe://cluster.local/ns/${NS}/sa/web`,
      2048,
    ]);
    expect(secret.text('root-cert.pem')).to.equal(rootSecret()?.text('ca-cert.pem'));
    expect(isWhole(await secretOf('default')), 'accounts that were there before').to.equal(true);
    expect(readSecret(cluster, 'default', 'mesh.default'), 'only the namespace it listens to').to.equal(undefined);
    cluster.kubectl(['delete', 'serviceaccount', 'web', '-n', NS]);
    await eventually(() => (readSecret(cluster, NS, 'mesh.web') === undefined ? true : undefined));
  });

  it('mends what somebody edits or deletes, and nothing else', async () => {
    await start();
    cluster.kubectl(['create', 'serviceaccount', 'mended', '-n', NS]);
    const first = await secretOf('mended');
    const other = await secretOf('default');

    patch('mended', { 'root-cert.pem': 'mine' });
    const refreshed = await changed('mended', first);
    expect(refreshed.text('root-cert.pem')).to.equal(first.text('root-cert.pem'));
    expect(refreshed.text('key.pem'), 'a key that is good stays').to.equal(first.text('key.pem'));

    const damages: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
      ['the key of another', { 'key.pem': other.text('key.pem') }],
      ['the certificate of another', { 'key.pem': other.text('key.pem'), 'cert-chain.pem': other.text('cert-chain.pem') }],
      ['garbage', { 'cert-chain.pem': 'garbage' }],
      ['no key', { 'key.pem': '' }],
    ];
    for (const [what, data] of damages) {
      const before = await secretOf('mended');
      patch('mended', data);
      const mended = await changed('mended', before);
      expect(mended.text('key.pem'), what).not.to.equal(before.text('key.pem'));
    }

    const before = await secretOf('mended');
    cluster.kubectl(['delete', 'secret', 'mesh.mended', '-n', NS]);
    expect(isWhole(await changed('mended', before))).to.equal(true);
    expect((await secretOf('default')).resourceVersion).to.equal(other.resourceVersion);
  });

  it('gives an account that was made anew a new Secret', async () => {
    await start();
    cluster.kubectl(['create', 'serviceaccount', 'again', '-n', NS]);
    const first = await secretOf('again');
    cluster.kubectl(['delete', 'serviceaccount', 'again', '-n', NS]);
    cluster.kubectl(['create', 'serviceaccount', 'again', '-n', NS]);
    const uid = cluster.kubectl(['get', 'serviceaccount', 'again', '-n', NS, '-o', 'jsonpath={.metadata.uid}']);
    const second = await eventually(() => {
      const now = readSecret(cluster, NS, 'mesh.again');
      return now?.object.metadata.ownerReferences?.[0]?.uid === uid ? now : undefined;
    });
    expect([isWhole(second), second.resourceVersion === first.resourceVersion]).to.deep.equal([true, false]);
  });

  it('leaves good Secrets alone when it starts again, and those of others always', async () => {
    const first = await start();
    cluster.kubectl(['create', 'secret', 'generic', 'mesh.taken', '-n', NS, '--from-literal=key.pem=mine']);
    cluster.kubectl(['create', 'serviceaccount', 'taken', '-n', NS]);
    await first.logged('is of another type');
    const before = await secretOf('default');
    const taken = await secretOf('taken');
    await stop(first);
    const second = await start();
    await second.logged('this replica leads');
    await second.logged('is of another type');
    expect((await secretOf('default')).resourceVersion).to.equal(before.resourceVersion);
    expect((await secretOf('taken')).resourceVersion).to.equal(taken.resourceVersion);
    expect(second.log).not.to.contain('secret of a service account issued');
  });

  it('goes on after a restart of the API server, with another kind of credentials too', async () => {
    const token = tokenOf(cluster, ACCOUNT, []);
    const credential = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token } };
    const exec = {
      apiVersion: credential.apiVersion,
      command: 'echo',
      args: [JSON.stringify(credential)],
      interactiveMode: 'Never',
    };
    const config = JSON.parse(readFileSync(kubeconfig, 'utf8')) as { users: { user: object }[] };
    const path = `${kubeconfig}.exec`;
    writeFileSync(path, JSON.stringify({ ...config, users: config.users.map((each) => ({ ...each, user: { exec } })) }));
    const ca = await start({ 'orch-config': path });
    await ca.logged('this replica leads');
    cluster.killApiServer();
    await ca.logged('the lease that makes a leader cannot be had');
    await cluster.startApiServer();
    cluster.kubectl(['create', 'serviceaccount', 'late', '-n', NS]);
    expect(isWhole(await secretOf('late'))).to.equal(true);
  });

  it('runs with a client certificate, and serves every namespace unless it is told one', async () => {
    await start({ 'orch-config': cluster.kubeconfig, 'listened-namespace': '' });
    const secret = await eventually(() => readSecret(cluster, 'kube-public', 'mesh.default'));
    expect(secret.text('cert-chain.pem')).to.contain('BEGIN CERTIFICATE');
    const published = await eventually(() => readEntries(cluster, 'configmaps', 'kube-public', 'mesh-ca-root-cert'));
    expect(published['root-cert.pem']).to.equal(secret.text('root-cert.pem'));
  });

  it('puts the names that webhooks are called by into the certificates of those who serve them', async () => {
    const hook = {
      name: 'hook.ca.test',
      clientConfig: { service: { namespace: NS, name: 'hook', path: '/', port: 443 } },
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      // It is called for nothing.
      rules: [{ operations: ['CREATE'], apiGroups: ['none.test'], apiVersions: ['v1'], resources: ['nothing'] }],
    };
    const service = (name: string, app: string) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace: NS },
      spec: { selector: { app }, ports: [{ port: 443 }] },
    });
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'hook-0', namespace: NS, labels: { app: 'hook', more: 'x' } },
      spec: { serviceAccountName: 'hooked', containers: [{ name: 'app', image: 'none' }] },
    };
    const configuration = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'ca-test' },
      webhooks: [hook],
    };
    cluster.kubectl(['create', 'serviceaccount', 'hooked', '-n', NS]);
    const ca = await start({ 'append-dns-names': true });
    const first = await secretOf('hooked');
    const other = await secretOf('default');
    const objects = [service('hook', 'hook'), service('api', 'hook'), pod, configuration];
    cluster.kubectl(['apply', '-f', '-'], objects.map((object) => JSON.stringify(object)).join('\n---\n'));
    try {
      const names = await eventually(() => {
        const now = readSecret(cluster, NS, 'mesh.hooked');
        return now === undefined || now.resourceVersion === first.resourceVersion ? undefined : namesIn(now);
      });
      expect(names).to.equal(`URI:spiffe://cluster.local/ns/${NS}/sa/hooked, DNS:hook.${NS}, DNS:hook.${NS}.svc`);
      await stop(ca);
      const hooked = await secretOf('hooked');
      const again = await start({ 'append-dns-names': true });
      await again.logged('this replica leads');
      patch('hooked', { 'root-cert.pem': 'mine' });
      await eventually(() => (readSecret(cluster, NS, 'mesh.hooked')?.text('root-cert.pem') === 'mine' ? undefined : true));
      expect((await secretOf('hooked')).text('key.pem'), 'a restart changes nothing').to.equal(hooked.text('key.pem'));
      expect((await secretOf('default')).resourceVersion).to.equal(other.resourceVersion);
    } finally {
      cluster.kubectl(['delete', 'validatingwebhookconfiguration', 'ca-test']);
    }
  });

  describe('tells callers by tokens of the API server', () => {
    let csr: string;
    const web = { namespace: NS, name: 'caller' };
    before(async () => {
      cluster.kubectl(['create', 'serviceaccount', web.name, '-n', NS]);
      csr = (await createCsr(await generateKeyPair('ec-p256'))).pem;
    });

    const ask = (ca: CaProcess, token: string): Promise<readonly string[]> => {
      const tls = { rootPem: rootSecret()?.text('ca-cert.pem') ?? '', serverName: `mesh-citadel.${SYSTEM}.svc` };
      return createCertificate({ port: ca.port, csr, tls, token });
    };
    const refusal = (ca: CaProcess, token: string): Promise<string> =>
      ask(ca, token).then(
        () => expect.fail('a certificate was issued'),
        (thrown: unknown) => `${MeshError.from(thrown).code}: ${MeshError.from(thrown).message}`,
      );

    it('signs for the account of a token, and names its pod in the log', async () => {
      const ca = await start();
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'caller-0', namespace: NS } };
      const spec = { serviceAccountName: web.name, containers: [{ name: 'app', image: 'none' }] };
      cluster.kubectl(['apply', '-f', '-'], JSON.stringify({ ...pod, spec }));
      const bound = ['--bound-object-kind=Pod', '--bound-object-name=caller-0'];
      const token = tokenOf(cluster, web, ['mesh-ca'], bound);
      const [leaf = ''] = await ask(ca, token);
      expect(new X509Certificate(leaf).subjectAltName).to.equal(`URI:spiffe://cluster.local/ns/${NS}/sa/caller`);
      const line = ca.log.split('\n').find((text) => text.includes('certificate issued') && text.includes('caller'));
      expect(line).to.match(/pod.{1,4}caller-0/);
      expect(ca.log).not.to.contain(token);
    });

    it('refuses tokens for others, of nobody, and of accounts that are gone', async () => {
      const ca = await start();
      expect(await refusal(ca, tokenOf(cluster, web, []))).to.match(/^unauthenticated: .*the token is refused: /);
      expect(await refusal(ca, tokenOf(cluster, web, ['vault']))).to.match(/^unauthenticated: .*the token is refused: /);
      const [head, body] = tokenOf(cluster, web, ['mesh-ca']).split('.');
      expect(await refusal(ca, `${head}.${body}.${'A'.repeat(342)}`)).to.match(/^unauthenticated: .*the token is refused: /);
      cluster.kubectl(['create', 'serviceaccount', 'gone', '-n', NS]);
      const gone = tokenOf(cluster, { namespace: NS, name: 'gone' }, ['mesh-ca']);
      cluster.kubectl(['delete', 'serviceaccount', 'gone', '-n', NS]);
      const last = await eventually(async () => {
        const told = await refusal(ca, gone).catch(() => undefined);
        return told?.startsWith('unauthenticated') ? told : undefined;
      });
      expect(last).to.contain('the token is refused');
    });

    it('refuses everybody while it may not ask', async () => {
      const role = `${ACCOUNT.name}-${SYSTEM}`;
      const ca = await start();
      const before = cluster.kubectl(['get', 'clusterrole', role, '-o', 'json']);
      const without = JSON.parse(before) as { rules: { resources: string[] }[]; metadata: Record<string, unknown> };
      const rules = without.rules.filter(({ resources }) => !resources.includes('tokenreviews'));
      const patched = (kept: unknown): string => JSON.stringify({ rules: kept });
      cluster.kubectl(['patch', 'clusterrole', role, '--type=merge', '-p', patched(rules)]);
      try {
        const told = await eventually(async () => {
          const refused = await refusal(ca, tokenOf(cluster, web, ['mesh-ca'])).catch(() => undefined);
          return refused?.startsWith('unavailable') ? refused : undefined;
        });
        expect(told).to.contain('the API server cannot be asked, try again');
      } finally {
        cluster.kubectl(['patch', 'clusterrole', role, '--type=merge', '-p', patched(without.rules)]);
      }
      await eventually(() => ask(ca, tokenOf(cluster, web, ['mesh-ca'])).catch(() => undefined));
    });
  });

  describe('with replicas', () => {
    const deleteSecret = (): string => cluster.kubectl(['delete', 'secret', 'mesh.default', '-n', NS]);

    it('has one root, made by the one that leads, and below which all sign', async () => {
      cluster.kubectl(['delete', 'secret', 'mesh-ca-secret', '-n', SYSTEM, '--ignore-not-found']);
      const replicas = await Promise.all([start(), start()]);
      expect(replicas.filter(({ log }) => log.includes('root certificate made'))).to.have.length(1);
      const token = tokenOf(cluster, { namespace: NS, name: 'default' }, ['mesh-ca']);
      const csr = (await createCsr(await generateKeyPair('ec-p256'))).pem;
      const tls = { rootPem: rootSecret()?.text('ca-cert.pem') ?? '', serverName: 'mesh-citadel' };
      const chains = await Promise.all(replicas.map(({ port }) => createCertificate({ port, csr, token, tls })));
      expect(new Set(chains.map((chain) => chain.at(-1))).size).to.equal(1);
    });

    it('leaves writing to one of them, and goes on with another when that one stops', async () => {
      const first = await start();
      await first.logged('this replica leads');
      const second = await start();
      const before = await secretOf('default');
      deleteSecret();
      await changed('default', before);
      expect(second.log).not.to.match(/this replica leads|secret of a service account issued/);
      await stop(first);
      await second.logged('this replica leads');
      const left = await secretOf('default');
      deleteSecret();
      await changed('default', left);
      expect(second.log).to.contain('secret of a service account issued');
    });

    it('writes nothing once another one holds the lease', async () => {
      const ca = await start();
      await ca.logged('this replica leads');
      const before = await secretOf('default');
      const lease = { spec: { holderIdentity: 'somebody', leaseDurationSeconds: 6 } };
      cluster.kubectl(['patch', 'lease', 'mesh-citadel', '-n', SYSTEM, '--type=merge', '-p', JSON.stringify(lease)]);
      await ca.logged('this replica leads no longer');
      deleteSecret();
      await changed('default', before);
      const told = ['this replica leads no longer', 'this replica leads:', 'secret of a service account issued'];
      // In this order, each after the one before; the last comes a moment after the Secret.
      await eventually(() => {
        const [lost = 0, led = 0, issued = 0] = told.map((text) => ca.log.lastIndexOf(text));
        return lost < led && led < issued ? true : undefined;
      });
    });
  });

  describe('near the end of its root', () => {
    it('exchanges the root while workloads on both sides go on verifying each other', async function () {
      this.timeout(240_000);
      cluster.kubectl(['delete', 'secret', 'mesh-ca-secret', '-n', SYSTEM, '--ignore-not-found']);
      for (const name of ['left', 'right', 'agent']) cluster.kubectl(['create', 'serviceaccount', name, '-n', NS]);
      const ca = await start({
        'self-signed-ca-cert-ttl': seconds(40),
        'workload-cert-ttl': seconds(30),
        'workload-cert-grace-period-ratio': 0.2,
        'workload-cert-min-grace-period': seconds(0),
      });
      const oldRoot = rootSecret()?.text('ca-cert.pem') ?? '';
      const token = tokenOf(cluster, { namespace: NS, name: 'agent' }, ['mesh-ca']);
      const published = async (): Promise<string> =>
        (await eventually(() => readEntries(cluster, 'configmaps', NS, 'mesh-ca-root-cert')))['root-cert.pem'] ?? '';
      const ofSecret = (account: string) => async (): Promise<Credentials> => {
        const entries = await eventually(() => readEntries(cluster, 'secrets', NS, `mesh.${account}`));
        return { key: entries['key.pem'] ?? '', chain: entries['cert-chain.pem'] ?? '', roots: entries['root-cert.pem'] ?? '' };
      };
      const ofAgent = async (): Promise<Credentials> => {
        const roots = await published();
        const pair = await generateKeyPair('ec-p256');
        const tls = { rootPem: roots, serverName: 'mesh-citadel' };
        const chain = await createCertificate({ port: ca.port, csr: (await createCsr(pair)).pem, token, tls });
        return { key: privateKeyPem(pair.privateKey).reveal(), chain: chain.slice(0, -1).join(''), roots };
      };
      await eventually(async () => ((await ofSecret('right')()).roots === oldRoot ? true : undefined));
      const sources = [ofSecret('left'), ofSecret('right'), ofAgent];
      const workloads: Credentials[] = [];
      for (const load of sources) workloads.push(await load());
      const seen = new Set<string>();
      const isOver = (): boolean => workloads.every(({ roots }) => !roots.includes(oldRoot.trim()));
      // One after the other takes its files over, as kubelets and agents do.
      for (let turn = 0; !isOver(); turn = (turn + 1) % sources.length) {
        workloads[turn] = (await sources[turn]?.()) ?? expect.fail('no workload');
        for (const server of workloads) {
          for (const client of workloads) if (server !== client) await handshake(server, client);
        }
        seen.add(workloads.map((each) => (isBelow(each, oldRoot) ? 'old' : 'new')).join(' '));
      }
      expect(seen, 'all are below the old root, then some, then none').to.include('old old old').and.to.include('new new new');
      expect(seen.size).to.be.greaterThan(2);
      expect(ca.log).not.to.contain('ends soon, so its successor signs though');
    });
  });
});

interface Credentials {
  readonly key: string;
  readonly chain: string;
  readonly roots: string;
}

function isBelow({ chain }: Credentials, root: string): boolean {
  return new X509Certificate(chain).verify(new X509Certificate(root).publicKey);
}

/** Resolves when both have verified each other. */
async function handshake(server: Credentials, client: Credentials): Promise<void> {
  const optionsOf = ({ key, chain, roots }: Credentials) => ({ key, cert: chain, ca: roots });
  const listener = createServer({ ...optionsOf(server), requestCert: true, rejectUnauthorized: true });
  const accepted = new Promise<void>((resolve, reject) => {
    listener.once('secureConnection', (socket) => {
      socket.end();
      resolve();
    });
    listener.once('tlsClientError', reject);
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const socket = connect({ ...optionsOf(client), port, host: '127.0.0.1', checkServerIdentity: () => undefined });
  try {
    await Promise.all([accepted, once(socket, 'secureConnect')]);
  } finally {
    socket.destroy();
    listener.close();
  }
}
