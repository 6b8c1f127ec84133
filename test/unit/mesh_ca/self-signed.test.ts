import { randomUUID, X509Certificate } from 'node:crypto';
import { expect } from 'chai';
import { generateKeyPair } from '../../../src/io/x509/key.ts';
import { validityFrom } from '../../../src/io/x509/template.ts';
import { type Duration, seconds } from '../../../src/lib/duration.ts';
import { MeshError } from '../../../src/lib/errors.ts';
import { namesFor } from '../../../src/lib/names.ts';
import { type Authority, issue, rootPem } from '../../../src/mesh_ca/authority.ts';
import { soleLeader } from '../../../src/mesh_ca/leadership.ts';
import { PemSecret } from '../../../src/mesh_ca/pem-secret.ts';
import { openSelfSigned, type SelfSigned, type SelfSignedOptions } from '../../../src/mesh_ca/self-signed.ts';
import { kindsFor } from '../../../src/model/kinds.ts';
import type { KubeObject, ObjectRef } from '../../../src/model/object.ts';
import { MemoryStore } from '../../../src/sources/store/memory.ts';
import type { ObjectStore } from '../../../src/sources/store/object-store.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';
import { DAY, leafTemplate, NOW, openssl, testSerial } from '../../harness/certificates.ts';

const names = namesFor('mesh.io');
const kinds = kindsFor(names);
const SECRET: ObjectRef = { kind: kinds.secret, namespace: 'mesh-system', name: 'mesh-ca-secret' };

const newStore = (): MemoryStore => new MemoryStore({ kinds, now: () => NOW, newUid: randomUUID });

/** A store in which some calls do something else. */
function storeWith(store: ObjectStore, changes: Partial<ObjectStore>): ObjectStore {
  return {
    list: (...args) => store.list(...args),
    get: (...args) => store.get(...args),
    create: (...args) => store.create(...args),
    replace: (...args) => store.replace(...args),
    delete: (...args) => store.delete(...args),
    watch: (...args) => store.watch(...args),
    close: () => store.close(),
    ...changes,
  };
}

function optionsFor(store: ObjectStore, now = NOW, ttl: Duration = seconds(365 * DAY)): SelfSignedOptions {
  return {
    spec: { keyType: 'ec-p256', ttl, organization: 'k8s.cluster.local' },
    grace: { ratio: 0.5, minimum: seconds(600) },
    secret: new PemSecret({ store, kinds, namespace: 'mesh-system', name: 'mesh-ca-secret', type: 'mesh.io/ca-root' }),
    leadership: soleLeader(new AbortController().signal),
    missing: () => [],
    now: () => now,
    uptime: () => seconds(0),
    newSerial: testSerial,
    sleep: () => expect.fail('waited'),
    logger: new MemoryLogger(),
    signal: new AbortController().signal,
  };
}

const open = async (options: SelfSignedOptions): Promise<Authority> => (await openSelfSigned(options)).authority.current();

const rootOf = (authority: Authority): string => authority.certificate.fingerprint256;

async function failure(opening: Promise<Authority>): Promise<MeshError> {
  return opening.then(
    () => expect.fail('opened'),
    (error: unknown) => MeshError.from(error),
  );
}

async function storedSecret(store: ObjectStore): Promise<KubeObject> {
  return store.get(SECRET);
}

describe('the self-signed root', () => {
  it('is made and kept in a Secret as Kubernetes has them', async () => {
    const store = newStore();
    const authority = await open(optionsFor(store));
    const secret = await storedSecret(store);
    expect(secret['type']).to.equal('mesh.io/ca-root');
    const data = secret['data'] as Record<string, string>;
    const pem = Buffer.from(data['ca-cert.pem'] ?? '', 'base64').toString();
    expect(new X509Certificate(pem).fingerprint256).to.equal(rootOf(authority));
    expect(new X509Certificate(pem).subject).to.equal('O=k8s.cluster.local');
    expect(
      openssl(
        { 'k.pem': Buffer.from(data['ca-key.pem'] ?? '', 'base64').toString() },
        'pkey',
        '-in',
        'k.pem',
        '-check',
        '-noout',
      ),
    ).to.contain('Key is valid');
  });

  it('is the same after a restart, until its very end', async () => {
    const store = newStore();
    const before = await open(optionsFor(store));
    const secret = await storedSecret(store);
    const lastMoment = new Date(before.certificate.validToDate.getTime() - 1000);
    const after = await open(optionsFor(store, lastMoment));
    expect(rootOf(after)).to.equal(rootOf(before));
    expect(await storedSecret(store)).to.deep.equal(secret);
  });

  it('is replaced when it has expired', async () => {
    const store = newStore();
    const before = await open(optionsFor(store, NOW, seconds(DAY)));
    const later = new Date(NOW.getTime() + 2 * DAY * 1000);
    const after = await open(optionsFor(store, later));
    expect(rootOf(after)).not.to.equal(rootOf(before));
    expect(rootOf(await open(optionsFor(store, later)))).to.equal(rootOf(after));
  });

  it('is one for replicas that start together', async () => {
    const store = newStore();
    const authorities = await Promise.all([1, 2, 3].map(() => open(optionsFor(store))));
    expect(new Set(authorities.map(rootOf)).size).to.equal(1);
  });

  for (const code of ['unavailable', 'permission_denied', 'deadline_exceeded', 'internal'] as const) {
    it(`is never made anew when reading fails with ${code}`, async () => {
      const store = newStore();
      let written = 0;
      const broken = storeWith(store, {
        get: () => Promise.reject(new MeshError(code, 'the API server is away')),
        create: () => expect.fail(`written ${++written} times`),
        replace: () => expect.fail(`written ${++written} times`),
      });
      const error = await failure(open(optionsFor(broken)));
      expect([error.code, error.message, written]).to.deep.equal([
        code,
        'Secret mesh-system/mesh-ca-secret cannot be read: the API server is away',
        0,
      ]);
    });
  }

  const DAMAGED: readonly (readonly [
    string,
    (data: Record<string, string>, other: Record<string, string>) => unknown,
    string,
  ])[] = [
    ['no data', () => undefined, 'data has no ca-cert.pem'],
    ['no key', ({ 'ca-cert.pem': cert = '' }) => ({ 'ca-cert.pem': cert }), 'data has no ca-key.pem'],
    ['garbage', (data) => ({ ...data, 'ca-cert.pem': 'AAAA' }), 'there is no PEM block'],
    ['garbage as key', (data) => ({ ...data, 'ca-key.pem': 'AAAA' }), 'signingKey: is not a private key'],
    [
      'the key of another root',
      (data, other) => ({ ...data, 'ca-key.pem': other['ca-key.pem'] }),
      'signingKey: is not the key of the signing certificate',
    ],
  ];
  for (const [what, damage, reason] of DAMAGED) {
    it(`is never made anew when the Secret holds ${what}`, async () => {
      const [store, otherStore] = [newStore(), newStore()];
      await Promise.all([open(optionsFor(store)), open(optionsFor(otherStore))]);
      const [secret, other] = await Promise.all([storedSecret(store), storedSecret(otherStore)]);
      const damaged = {
        ...secret,
        data: damage(secret['data'] as Record<string, string>, other['data'] as Record<string, string>),
      };
      const stored = await store.replace(damaged);
      const error = await failure(open(optionsFor(store)));
      expect(error.code).to.equal('failed_precondition');
      expect(error.message).to.contain(reason).and.to.contain('restore it from a copy');
      expect(await storedSecret(store)).to.deep.equal(stored);
    });
  }

  describe('near its end', () => {
    let store: MemoryStore;
    let now: Date;
    let uptime: number;
    let missing: readonly string[];
    let options: SelfSignedOptions;
    let root: SelfSigned;
    const at = (days: number): Date => new Date(NOW.getTime() + days * DAY * 1000);
    const serials = (): readonly string[] => root.authority.current().roots.map(({ serialNumber }) => serialNumber);
    const signing = (): string => root.authority.current().certificate.serialNumber;
    beforeEach(async () => {
      store = newStore();
      now = NOW;
      uptime = 0;
      missing = [];
      options = { ...optionsFor(store), missing: () => missing, now: () => now, uptime: () => seconds(uptime) };
      root = await openSelfSigned(options);
    });

    /** What an hour later is done. */
    async function keepUpAt(days: number): Promise<void> {
      now = at(days);
      await root.keepUp();
      uptime += 3600;
    }

    it('gets a successor in its grace period, signs on, and is followed by it in the middle of that period', async () => {
      const first = signing();
      await keepUpAt(182);
      expect(serials()).to.deep.equal([first]);
      await keepUpAt(183);
      const [, second = ''] = serials();
      expect([signing(), serials()]).to.deep.equal([first, [first, second]]);
      await keepUpAt(273);
      expect([signing(), serials()]).to.deep.equal([first, [first, second]]);
      await keepUpAt(274);
      expect([signing(), serials()]).to.deep.equal([second, [second, first]]);
      await keepUpAt(364);
      expect(serials()[1]).to.equal(first);
      await keepUpAt(366);
      expect([signing(), serials().includes(first)]).to.deep.equal([second, false]);
    });

    it('has a successor that differs in dates and key alone, and a certificate that verifies below either', async () => {
      await keepUpAt(183);
      const [before, after] = root.authority.current().roots;
      if (before === undefined || after === undefined) expect.fail();
      expect([after.subject, after.keyUsage, after.ca]).to.deep.equal([before.subject, before.keyUsage, before.ca]);
      expect(after.publicKey.equals(before.publicKey)).to.equal(false);
      await keepUpAt(274);
      const issued = await issue(
        root.authority.current(),
        leafTemplate(await generateKeyPair('ec-p256'), validityFrom(now, seconds(DAY))),
        now,
      );
      const files = { 'roots.pem': rootPem(root.authority.current()), 'leaf.pem': issued.pem };
      const args = ['verify', '-attime', String(now.getTime() / 1000), '-CAfile', 'roots.pem', 'leaf.pem'];
      expect(openssl(files, ...args)).to.equal('leaf.pem: OK\n');
    });

    it('signs on while somebody was not given the successor, for as long as there is time', async () => {
      const first = signing();
      missing = ['Secret foo/mesh.web'];
      await keepUpAt(183);
      await keepUpAt(274);
      await keepUpAt(340);
      expect(signing()).to.equal(first);
      missing = [];
      await keepUpAt(341);
      expect(signing(), 'everybody needs time to load it').to.equal(first);
      await keepUpAt(341);
      expect(signing()).not.to.equal(first);
    });

    it('is followed by its successor an eighth of the grace period before its end all the same, and tells who lacks it', async () => {
      const first = signing();
      missing = ['Secret foo/mesh.web'];
      await keepUpAt(183);
      await keepUpAt(342);
      expect(signing()).to.equal(first);
      await keepUpAt(343);
      expect(signing()).not.to.equal(first);
      const entry = (options.logger as MemoryLogger).entries.find(({ message }) => message.includes('ends soon'));
      expect(entry?.fields).to.deep.equal({ missing, count: 1 });
    });

    it('is left to the leader', async () => {
      const term = new AbortController();
      const other = await openSelfSigned({ ...options, leadership: soleLeader(term.signal) });
      term.abort();
      now = at(183);
      await other.keepUp();
      expect(other.authority.current().roots).to.have.length(1);
      await root.keepUp();
      await other.keepUp();
      expect(other.authority.current().roots).to.have.length(2);
    });

    it('is followed by one successor, however many replicas there are', async () => {
      const other = await openSelfSigned(options);
      now = at(183);
      await Promise.all([root.keepUp(), other.keepUp()]);
      await Promise.all([root.keepUp(), other.keepUp()]);
      expect(other.authority.current().pems.roots).to.equal(root.authority.current().pems.roots);
      expect(serials()).to.have.length(2);
    });

    it('survives a clock that jumps far ahead and comes back', async () => {
      const first = signing();
      now = at(4000);
      await root.keepUp();
      await root.keepUp();
      expect(signing()).to.equal(first);
      now = at(1);
      await root.keepUp();
      expect(signing()).to.equal(first);
      const restarted = await openSelfSigned(options);
      expect(restarted.authority.current().certificate.serialNumber).to.equal(first);
      // The successor that was made at that time is of no use, and is made anew when it is needed.
      await keepUpAt(183);
      await keepUpAt(274);
      expect([signing() !== first, root.authority.current().validity.notBefore < at(184)]).to.deep.equal([true, true]);
    });

    it('is followed by its successor even if it ended while nothing ran', async () => {
      const first = signing();
      await keepUpAt(400);
      await keepUpAt(400);
      expect(signing()).not.to.equal(first);
      expect(root.authority.current().validity.notAfter > at(700)).to.equal(true);
    });

    it('keeps trusting the root before it through a clock that jumps', async () => {
      await keepUpAt(183);
      await keepUpAt(274);
      const [, first = ''] = serials();
      now = at(400);
      await root.keepUp();
      expect(serials()).not.to.contain(first);
      now = at(275);
      await root.keepUp();
      expect(serials()).to.contain(first);
    });

    it('is put back when it was deleted', async () => {
      await store.delete(SECRET);
      await root.keepUp();
      expect(rootOf(await open(options))).to.equal(rootOf(root.authority.current()));
    });

    it('stays in force when the store is damaged or away, and tells it once', async () => {
      const first = signing();
      const secret = await storedSecret(store);
      await store.replace({ ...secret, data: {} });
      await root.keepUp();
      await root.keepUp();
      const errors = (options.logger as MemoryLogger).entries.filter(({ level }) => level === 'error');
      expect([signing(), errors.length]).to.deep.equal([first, 1]);
      expect(errors[0]?.fields['reason']).to.contain('data has no ca-cert.pem');
    });

    it('stays in force when its successor cannot be stored', async () => {
      const first = signing();
      const full = Object.assign(Object.create(store) as MemoryStore, {
        replace: () => Promise.reject(new MeshError('resource_exhausted', 'no space left; nothing was changed')),
        get: (...args: Parameters<ObjectStore['get']>) => store.get(...args),
      });
      root = await openSelfSigned({ ...options, secret: optionsFor(full).secret });
      await keepUpAt(183);
      expect(serials()).to.deep.equal([first]);
      expect((options.logger as MemoryLogger).text()).to.contain('no space left');
    });
  });

  it('is not made when it cannot be stored', async () => {
    const full = storeWith(newStore(), {
      create: () => Promise.reject(new MeshError('resource_exhausted', 'no space left; nothing was changed')),
    });
    const error = await failure(open(optionsFor(full)));
    expect([error.code, error.message]).to.deep.equal([
      'resource_exhausted',
      'Secret mesh-system/mesh-ca-secret cannot be written: no space left; nothing was changed',
    ]);
  });

  it('keeps the key out of logs and errors', async () => {
    const options = optionsFor(newStore());
    await open(options);
    expect((options.logger as MemoryLogger).text()).not.to.contain('PRIVATE KEY');
  });
});
