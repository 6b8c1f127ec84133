import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { generateKeyPair, type KeyPair } from '../../../src/io/x509/key.ts';
import { encodePem } from '../../../src/io/x509/pem.ts';
import { type CertificateTemplate, validityFrom } from '../../../src/io/x509/template.ts';
import { type Duration, seconds } from '../../../src/lib/duration.ts';
import { MeshError } from '../../../src/lib/errors.ts';
import { namesFor } from '../../../src/lib/names.ts';
import { authenticate } from '../../../src/mesh_ca/caller.ts';
import type { AuthorityHolder } from '../../../src/mesh_ca/live-authority.ts';
import { PemSecret } from '../../../src/mesh_ca/pem-secret.ts';
import { followUpstream, type UpstreamOptions } from '../../../src/mesh_ca/upstream.ts';
import { kindsFor } from '../../../src/model/kinds.ts';
import { MemoryStore } from '../../../src/sources/store/memory.ts';
import type { ObjectStore } from '../../../src/sources/store/object-store.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';
import { pemOf } from '../../harness/authority-files.ts';
import {
  caTemplate,
  DAY,
  leafTemplate,
  makeIntermediate,
  makeRoot,
  NOW,
  signLeaf,
  type TestCa,
} from '../../harness/certificates.ts';

const kinds = kindsFor(namesFor('mesh.io'));
const newStore = (): MemoryStore => new MemoryStore({ kinds, now: () => NOW, newUid: randomUUID });

type Answer = (pair: KeyPair) => Promise<readonly string[]>;

describe('an authority below another one', () => {
  let root: TestCa;
  let stranger: TestCa;
  let middle: TestCa;
  let dir: string;
  let now: Date;
  let stop: AbortController;
  let logger: MemoryLogger;
  /** How long it slept, each time. */
  let sleeps: number[];
  let onSleep: (count: number) => void;
  before(async () => {
    [root, stranger] = await Promise.all([makeRoot(), makeRoot('ec-p256', { subject: { organization: 'stranger' } })]);
    middle = await makeIntermediate(root);
  });
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-upstream-'));
    writeFileSync(join(dir, 'root.pem'), pemOf(root));
    now = NOW;
    stop = new AbortController();
    logger = new MemoryLogger();
    sleeps = [];
    onSleep = () => {};
  });
  afterEach(() => {
    stop.abort();
    rmSync(dir, { recursive: true, force: true });
  });

  function follow(request: Answer, store: ObjectStore = newStore()): Promise<AuthorityHolder> {
    const options: UpstreamOptions = {
      config: {
        address: { host: '10.0.0.1', port: 8060 },
        rootFile: join(dir, 'root.pem'),
        credential: { type: 'token', file: 'none' },
        requestedTtl: seconds(DAY),
      },
      keyType: 'ec-p256',
      grace: { ratio: 0.5, minimum: seconds(600) },
      secret: new PemSecret({ store, kinds, namespace: 'mesh-system', name: 'kept', type: 'mesh.io/ca-intermediate' }),
      trustDomain: () => 'cluster.local',
      request,
      now: () => now,
      random: () => 1,
      sleep: async (time: Duration, signal) => {
        sleeps.push(time);
        onSleep(sleeps.length);
        signal.throwIfAborted();
        if (sleeps.length > 20) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
      logger,
      signal: stop.signal,
    };
    return followUpstream(options);
  }

  /** What an upstream authority signs, with changes. */
  const signing =
    (changes: Partial<CertificateTemplate> = {}, issuer = (): TestCa => root): Answer =>
    async ({ publicKey }) => {
      const use = { type: 'ca', pathLength: 0, permittedUriHost: 'cluster.local' } as const;
      const template = caTemplate({ publicKey } as KeyPair, {
        subject: { commonName: 'lower' },
        use,
        ...validityFrom(now, seconds(DAY)),
        ...changes,
      });
      return [encodePem('CERTIFICATE', (await signLeaf(issuer(), template)).raw), pemOf(issuer())];
    };

  it('signs with the certificate that it was given, and keeps it', async () => {
    const store = newStore();
    onSleep = () => stop.abort();
    const first = await follow(signing(), store);
    expect(first.current().certificate.subject).to.equal('CN=lower');
    expect(first.current().pems.issuingRoot).to.equal(pemOf(root));
    stop = new AbortController();
    onSleep = () => stop.abort();
    const second = await follow(() => expect.fail('asked again'), store);
    expect(second.current().certificate.fingerprint256).to.equal(first.current().certificate.fingerprint256);
    expect(logger.text()).not.to.contain('PRIVATE KEY');
  });

  const WRONG: readonly (readonly [string, () => Answer, RegExp])[] = [
    ['nothing', () => async () => [], /there is no PEM block/],
    ['garbage', () => async () => ['garbage'], /there is no PEM block/],
    [
      'the certificate of another key',
      () => async () => signing()(await generateKeyPair('ec-p256')),
      /is not the key of the signing certificate/,
    ],
    [
      'a certificate of another root',
      () => signing({}, () => stranger),
      /O=stranger .*is self-signed and not one of the given roots/,
    ],
    [
      'a certificate without what leads to the root',
      () => async (pair) => (await signing({}, () => middle)(pair)).slice(0, 1),
      /is not issued by any of the given/,
    ],
    [
      'a certificate that is no authority',
      () => signing({ use: { type: 'tls', server: true, client: true } }),
      /is not a certificate authority/,
    ],
    [
      'a certificate that has expired',
      () => signing({ notAfter: new Date(NOW.getTime() - 1000) }),
      /expired at 2026-05-01T11:59:59/,
    ],
    [
      'a certificate of tomorrow',
      () => signing({ notBefore: new Date(NOW.getTime() + DAY), notAfter: new Date(NOW.getTime() + 2 * DAY * 1000) }),
      /is not valid before/,
    ],
    [
      'a certificate for another trust domain',
      () => signing({ use: { type: 'ca', permittedUriHost: 'example.org' } }),
      /allows no names of the trust domain cluster.local/,
    ],
    [
      'an error',
      () => () => Promise.reject(new MeshError('permission_denied', 'may not become a certificate authority')),
      /may not become/,
    ],
    [
      'no answer in time',
      () => () => Promise.reject(new MeshError('deadline_exceeded', 'Deadline exceeded after 10s')),
      /Deadline exceeded/,
    ],
  ];
  for (const [what, answer, reason] of WRONG) {
    it(`never signs with ${what}, tells why, and asks again`, async () => {
      let asked = 0;
      onSleep = (count) => {
        if (count === 2) stop.abort();
      };
      const opened = await follow(async (pair) => {
        asked += 1;
        return answer()(pair);
      }).then(
        () => 'opened',
        () => 'waiting',
      );
      expect([opened, asked]).to.deep.equal(['waiting', 2]);
      const [failure] = logger.entries;
      expect([failure?.message, failure?.fields['serving']]).to.deep.equal([
        'no signing certificate from the upstream certificate authority',
        'nobody until there is one',
      ]);
      expect(failure?.fields['reason']).to.match(reason);
    });
  }

  it('waits longer with every failure, up to 15 s while it serves nobody', async () => {
    onSleep = (count) => {
      if (count === 9) stop.abort();
    };
    await follow(() => Promise.reject(new MeshError('unavailable', 'down'))).catch(() => {});
    expect(sleeps.slice(0, 8)).to.deep.equal([500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
  });

  it('renews in its grace period, and signs with the present certificate until that goes well', async () => {
    let isDown = false;
    let holder: AuthorityHolder | undefined;
    const present: (string | undefined)[] = [];
    const renewed = Promise.withResolvers<void>();
    onSleep = (count) => {
      present.push(holder?.current().certificate.serialNumber);
      if (count === 2) {
        now = new Date(NOW.getTime() + 13 * 3600 * 1000);
        isDown = true;
      }
      if (count === 6) isDown = false;
      if (count === 8) {
        stop.abort();
        renewed.resolve();
      }
    };
    holder = await follow((pair) => (isDown ? Promise.reject(new MeshError('unavailable', 'down')) : signing()(pair)));
    const first = holder.current().certificate.serialNumber;
    await renewed.promise;
    expect(present.slice(1, 6)).to.deep.equal(Array(5).fill(first));
    expect(present[6]).not.to.equal(first);
    expect(sleeps.slice(0, 2)).to.deep.equal([60_000, 60_000]);
    expect(sleeps.slice(2, 6)).to.deep.equal([500, 1000, 2000, 4000]);
    expect(holder.formerIntermediates().map(({ serialNumber }) => serialNumber)).to.deep.equal([first]);
    const warning = logger.entries.find(({ level }) => level === 'error');
    expect(warning?.fields['serving']).to.equal('with the present certificate until 2026-05-02T12:00:00.000Z');
  });

  it('goes on when the store takes nothing', async () => {
    class FullStore extends MemoryStore {
      override create(): Promise<never> {
        return Promise.reject(new MeshError('resource_exhausted', 'no space left; nothing was changed'));
      }
    }
    onSleep = () => stop.abort();
    const holder = await follow(signing(), new FullStore({ kinds, now: () => NOW, newUid: randomUUID }));
    expect(holder.current().certificate.subject).to.equal('CN=lower');
    expect(logger.text()).to.contain('no space left').and.to.contain('asked for again after a restart');
  });

  it('takes what another replica kept', async () => {
    const store = newStore();
    onSleep = () => stop.abort();
    const other = await follow(signing(), store);
    stop = new AbortController();
    let reads = 0;
    const late: ObjectStore = Object.assign(Object.create(store), {
      // It looks before the other one has written.
      get: (...args: Parameters<ObjectStore['get']>) => {
        reads += 1;
        return reads <= 2 ? Promise.reject(new MeshError('not_found', 'none')) : store.get(...args);
      },
      create: (...args: Parameters<ObjectStore['create']>) => store.create(...args),
    });
    onSleep = () => stop.abort();
    const holder = await follow(signing(), late);
    expect(holder.current().certificate.serialNumber).to.equal(other.current().certificate.serialNumber);
  });

  it('knows certificates of the signing certificate before it after a restart, as long as that is in force', async () => {
    const store = newStore();
    let held: AuthorityHolder | undefined;
    onSleep = (count) => {
      if (count === 1) now = new Date(NOW.getTime() + 13 * 3600 * 1000);
      if (held !== undefined && held.current().certificate.serialNumber !== first) stop.abort();
    };
    held = await follow(signing(), store);
    const before = held.current();
    const first = before.certificate.serialNumber;
    const ended = new Promise((resolve) => stop.signal.addEventListener('abort', resolve));
    await ended;
    const trustDomain = 'cluster.local';
    const restarted = async (): Promise<string> => {
      stop = new AbortController();
      onSleep = () => stop.abort();
      const holder = await follow(() => expect.fail('asked again'), store);
      expect(holder.current().certificate.serialNumber).not.to.equal(first);
      const trust = { authority: holder.current(), formerIntermediates: holder.formerIntermediates(), trustDomain, issuers: [] };
      const context = { metadata: new Map(), peer: { address: '', certificate }, signal: stop.signal };
      const verify = (): never => expect.fail('there is no token');
      return authenticate(context, trust, verify, now).then(
        ({ credential }) => credential,
        (thrown: unknown) => MeshError.from(thrown).message,
      );
    };
    const names = [{ type: 'uri', value: 'spiffe://cluster.local/ns/foo/sa/httpbin' }] as const;
    const template = leafTemplate(await generateKeyPair('ec-p256'), { names, ...validityFrom(now, seconds(DAY)) });
    const certificate = await signLeaf({ ...root, issuerKey: before.issuerKey }, template);
    expect(await restarted()).to.equal('certificate');
    now = new Date(NOW.getTime() + 25 * 3600 * 1000);
    expect(await restarted()).to.match(/expired at/);
  });
});
