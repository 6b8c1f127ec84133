import { randomUUID, X509Certificate } from 'node:crypto';
import { expect } from 'chai';
import { generateKeyPair, privateKeyPem } from '../../../src/io/x509/key.ts';
import { validityFrom } from '../../../src/io/x509/template.ts';
import { seconds } from '../../../src/lib/duration.ts';
import { MeshError } from '../../../src/lib/errors.ts';
import { namesFor } from '../../../src/lib/names.ts';
import { type Authority, parseAuthority } from '../../../src/mesh_ca/authority.ts';
import { keepSecrets, type SecretKeeper } from '../../../src/mesh_ca/keep-secrets.ts';
import { AuthorityHolder } from '../../../src/mesh_ca/live-authority.ts';
import { kindsFor } from '../../../src/model/kinds.ts';
import type { KubeObject } from '../../../src/model/object.ts';
import { MemoryStore } from '../../../src/sources/store/memory.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';
import { pemOf } from '../../harness/authority-files.ts';
import { DAY, leafTemplate, makeRoot, NOW, signLeaf, type TestCa, testSerial } from '../../harness/certificates.ts';

const kinds = kindsFor(namesFor('mesh.io'));
const TYPE = 'mesh.io/key-and-cert';

/** Counts what is written, and fails where it is told to. */
class CountingStore extends MemoryStore {
  written: string[] = [];
  failing = false;

  override async create(object: KubeObject): Promise<KubeObject> {
    if (object.kind === 'Secret') this.#count(object);
    return super.create(object);
  }

  override async replace(object: KubeObject): Promise<KubeObject> {
    this.#count(object);
    return super.replace(object);
  }

  #count({ metadata }: KubeObject): void {
    if (this.failing) throw new MeshError('unavailable', 'the API server is away');
    this.written.push(metadata.name);
  }
}

function authorityOf(ca: TestCa, ...others: readonly TestCa[]): Authority {
  const rootCert = [ca, ...others].map((each) => pemOf(each)).join('');
  const material = { signingCert: pemOf(ca), signingKey: privateKeyPem(ca.pair.privateKey), certChain: '', rootCert };
  const parsed = parseAuthority(material, NOW);
  return parsed.ok ? parsed.value : expect.fail(JSON.stringify(parsed.problems));
}

describe('the Secrets of service accounts', () => {
  let [first, second]: readonly TestCa[] = [];
  let store: CountingStore;
  let authority: AuthorityHolder;
  let now: Date;
  let leads: boolean;
  let trustDomain: string;
  let dnsNames: readonly string[];
  let stop: AbortController;
  let logger: MemoryLogger;
  before(async () => {
    [first, second] = await Promise.all([makeRoot(), makeRoot('ec-p256', { subject: { organization: 'second' } })]);
  });
  beforeEach(() => {
    store = new CountingStore({ kinds, now: () => NOW, newUid: randomUUID });
    if (first === undefined) expect.fail();
    authority = new AuthorityHolder(authorityOf(first));
    [now, leads, trustDomain, dnsNames] = [NOW, true, 'cluster.local', []];
    stop = new AbortController();
    logger = new MemoryLogger();
  });
  afterEach(() => stop.abort());

  async function start(): Promise<SecretKeeper> {
    const keeper = keepSecrets({
      store,
      kinds,
      type: TYPE,
      namespace: undefined,
      authority,
      leadership: { term: () => (leads ? stop.signal : undefined), onTerm: () => {} },
      trustDomain: () => trustDomain,
      dnsNames: { namesOf: () => dnsNames, synced: Promise.resolve() },
      keyType: 'ec-p256',
      limits: { defaultTtl: seconds(DAY), organization: 'mesh' },
      grace: { ratio: 0.5, minimum: seconds(600) },
      now: () => now,
      newSerial: testSerial,
      random: () => 0.5,
      sleep: (_, signal) => new Promise((__, reject) => signal.addEventListener('abort', reject)),
      logger,
      signal: stop.signal,
    });
    await keeper.synced;
    return keeper;
  }

  const account = (name: string, changes = {}): Promise<KubeObject> =>
    store.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'foo', ...changes } });
  const secret = (name: string): Promise<KubeObject> => store.get({ kind: kinds.secret, namespace: 'foo', name: `mesh.${name}` });
  const text = (object: KubeObject, key: string): string =>
    Buffer.from((object['data'] as Record<string, string>)[key] ?? '', 'base64').toString();
  /** Looks until what it wrote has come back through the watch. */
  async function settled(keeper: SecretKeeper): Promise<readonly string[]> {
    await keeper.check();
    await new Promise((resolve) => setImmediate(resolve));
    await keeper.check();
    return store.written.splice(0).sort();
  }

  it('are made once and then left alone, by a process of later too', async () => {
    await Promise.all(['a', 'b', 'c'].map((name) => account(name)));
    expect(await settled(await start())).to.deep.equal(['mesh.a', 'mesh.b', 'mesh.c']);
    const made = await secret('a');
    expect(made.metadata.ownerReferences?.[0]).to.deep.include({ apiVersion: 'v1', kind: 'ServiceAccount', name: 'a' });
    expect(new X509Certificate(text(made, 'cert-chain.pem')).subject).to.equal('O=mesh');
    stop.abort();
    stop = new AbortController();
    expect(await settled(await start())).to.deep.equal([]);
    expect(logger.text()).not.to.contain('PRIVATE KEY');
  });

  it('are renewed when the grace period begins, not before', async () => {
    await account('a');
    const keeper = await start();
    await settled(keeper);
    const before = text(await secret('a'), 'key.pem');
    now = new Date(NOW.getTime() + 11 * 3600 * 1000);
    expect(await settled(keeper)).to.deep.equal([]);
    now = new Date(NOW.getTime() + 12 * 3600 * 1000);
    expect(await settled(keeper)).to.deep.equal(['mesh.a']);
    expect(text(await secret('a'), 'key.pem')).not.to.equal(before);
  });

  it('keep key and certificate when only the roots change, tell who lacks them, and follow a root that nobody trusts any more', async () => {
    if (first === undefined || second === undefined) expect.fail();
    await account('a');
    const keeper = await start();
    await settled(keeper);
    const before = await secret('a');
    authority.replace(authorityOf(first, second));
    expect(keeper.missing()).to.deep.equal(['Secret foo/mesh.a']);
    expect(await settled(keeper)).to.deep.equal(['mesh.a']);
    expect(keeper.missing()).to.deep.equal([]);
    const refreshed = await secret('a');
    expect(text(refreshed, 'root-cert.pem')).to.equal(pemOf(first) + pemOf(second));
    for (const key of ['key.pem', 'cert-chain.pem']) expect(text(refreshed, key)).to.equal(text(before, key));
    authority.replace(authorityOf(second, first));
    await settled(keeper);
    expect(text(await secret('a'), 'key.pem')).to.equal(text(before, 'key.pem'));
    authority.replace(authorityOf(second));
    await settled(keeper);
    expect(new X509Certificate(text(await secret('a'), 'cert-chain.pem')).issuer).to.equal('O=second');
  });

  it('are not renewed over and over when the authority ends before they would', async () => {
    await account('a');
    const keeper = await start();
    now = new Date(NOW.getTime() + (365 * DAY - 3600) * 1000);
    expect(await settled(keeper)).to.deep.equal(['mesh.a']);
    now = new Date(NOW.getTime() + (365 * DAY - 60) * 1000);
    expect(await settled(keeper)).to.deep.equal([]);
  });

  it('are made anew when the names in them are not the right ones', async () => {
    await account('a');
    const keeper = await start();
    await settled(keeper);
    dnsNames = ['hook.foo', 'hook.foo.svc'];
    expect(await settled(keeper)).to.deep.equal(['mesh.a']);
    expect(new X509Certificate(text(await secret('a'), 'cert-chain.pem')).subjectAltName).to.contain('DNS:hook.foo.svc');
    dnsNames = [];
    expect(await settled(keeper), 'a name too many is no reason').to.deep.equal([]);
    trustDomain = 'other.test';
    expect(await settled(keeper)).to.deep.equal(['mesh.a']);
  });

  it('never keep a certificate that may sign others', async () => {
    if (first === undefined) expect.fail();
    await account('a');
    const keeper = await start();
    await settled(keeper);
    const pair = await generateKeyPair('ec-p256');
    const names = [{ type: 'uri', value: 'spiffe://cluster.local/ns/foo/sa/a' }] as const;
    const forged = leafTemplate(pair, { names, ...validityFrom(NOW, seconds(DAY)), use: { type: 'ca' } });
    const leaf = await signLeaf(first, forged);
    const before = await secret('a');
    const entry = (value: string): string => Buffer.from(value).toString('base64');
    const data = {
      ...(before['data'] as object),
      'key.pem': entry(privateKeyPem(pair.privateKey).reveal()),
      'cert-chain.pem': entry(leaf.toString()),
    };
    await store.replace({ ...before, data });
    await settled(keeper);
    expect(new X509Certificate(text(await secret('a'), 'cert-chain.pem')).ca).to.equal(false);
    expect(logger.text()).to.contain('is that of a certificate authority');
  });

  it('are written by a leader alone', async () => {
    await account('a');
    leads = false;
    const keeper = await start();
    expect(await settled(keeper)).to.deep.equal([]);
    leads = true;
    expect(await settled(keeper)).to.deep.equal(['mesh.a']);
  });

  it('are not made for accounts that are going', async () => {
    await account('going', { deletionTimestamp: '2026-05-01T00:00:00Z' });
    expect(await settled(await start())).to.deep.equal([]);
  });

  it('are tried again when the store has failed', async () => {
    await account('a');
    store.failing = true;
    const keeper = await start();
    await keeper.check();
    expect(logger.text()).to.contain('the API server is away');
    store.failing = false;
    expect(await settled(keeper)).to.deep.equal(['mesh.a']);
  });
});
