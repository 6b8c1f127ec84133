import { randomUUID, X509Certificate } from 'node:crypto';
import { expect } from 'chai';
import { type Duration, seconds } from '../../../src/lib/duration.ts';
import { MeshError } from '../../../src/lib/errors.ts';
import { namesFor } from '../../../src/lib/names.ts';
import type { Authority } from '../../../src/mesh_ca/authority.ts';
import { openSelfSigned, type SelfSignedOptions } from '../../../src/mesh_ca/self-signed.ts';
import { kindsFor } from '../../../src/model/kinds.ts';
import type { KubeObject, ObjectRef } from '../../../src/model/object.ts';
import { MemoryStore } from '../../../src/sources/store/memory.ts';
import type { ObjectStore } from '../../../src/sources/store/object-store.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';
import { DAY, NOW, openssl, testSerial } from '../../harness/certificates.ts';

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
  const fixed = { kinds, names, namespace: 'mesh-system', keyType: 'rsa-2048', organization: 'k8s.cluster.local' } as const;
  return { ...fixed, store, ttl, now: () => now, newSerial: testSerial, logger: new MemoryLogger() };
}

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
    const authority = await openSelfSigned(optionsFor(store));
    const secret = await storedSecret(store);
    expect(secret['type']).to.equal('mesh.io/ca-root');
    const data = secret['data'] as Record<string, string>;
    const pem = Buffer.from(data['ca-cert.pem'] ?? '', 'base64').toString();
    expect(new X509Certificate(pem).fingerprint256).to.equal(rootOf(authority));
    expect(new X509Certificate(pem).subject).to.equal('O=k8s.cluster.local');
    expect(
      openssl({ 'k.pem': Buffer.from(data['ca-key.pem'] ?? '', 'base64').toString() }, 'rsa', '-in', 'k.pem', '-check', '-noout'),
    ).to.contain('RSA key ok');
  });

  it('is the same after a restart, until its very end', async () => {
    const store = newStore();
    const before = await openSelfSigned(optionsFor(store));
    const secret = await storedSecret(store);
    const lastMoment = new Date(before.certificate.validToDate.getTime() - 1000);
    const after = await openSelfSigned(optionsFor(store, lastMoment));
    expect(rootOf(after)).to.equal(rootOf(before));
    expect(await storedSecret(store)).to.deep.equal(secret);
  });

  it('is replaced when it has expired', async () => {
    const store = newStore();
    const before = await openSelfSigned(optionsFor(store, NOW, seconds(DAY)));
    const later = new Date(NOW.getTime() + 2 * DAY * 1000);
    const after = await openSelfSigned(optionsFor(store, later));
    expect(rootOf(after)).not.to.equal(rootOf(before));
    expect(rootOf(await openSelfSigned(optionsFor(store, later)))).to.equal(rootOf(after));
  });

  it('is one for replicas that start together', async () => {
    const store = newStore();
    const authorities = await Promise.all([1, 2, 3].map(() => openSelfSigned(optionsFor(store))));
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
      const error = await failure(openSelfSigned(optionsFor(broken)));
      expect([error.code, error.message, written]).to.deep.equal([
        code,
        'the root certificate cannot be read from Secret mesh-system/mesh-ca-secret: the API server is away',
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
      await Promise.all([openSelfSigned(optionsFor(store)), openSelfSigned(optionsFor(otherStore))]);
      const [secret, other] = await Promise.all([storedSecret(store), storedSecret(otherStore)]);
      const damaged = {
        ...secret,
        data: damage(secret['data'] as Record<string, string>, other['data'] as Record<string, string>),
      };
      const stored = await store.replace(damaged);
      const error = await failure(openSelfSigned(optionsFor(store)));
      expect(error.code).to.equal('failed_precondition');
      expect(error.message).to.contain(reason).and.to.contain('restore it from a copy');
      expect(await storedSecret(store)).to.deep.equal(stored);
    });
  }

  it('keeps the key out of logs and errors', async () => {
    const options = optionsFor(newStore());
    await openSelfSigned(options);
    expect((options.logger as MemoryLogger).text()).not.to.contain('PRIVATE KEY');
  });
});
