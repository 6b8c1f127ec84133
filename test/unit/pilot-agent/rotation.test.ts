import { expect } from 'chai';
import { generateKeyPair } from '../../../src/io/x509/key.ts';
import { seconds } from '../../../src/lib/duration.ts';
import { MeshError } from '../../../src/lib/errors.ts';
import { Redacted } from '../../../src/lib/redacted.ts';
import type { RequestIdentity } from '../../../src/pilot-agent/certificate-request.ts';
import { AgentMetrics } from '../../../src/pilot-agent/metrics.ts';
import { keepIdentityFresh, renewalTime } from '../../../src/pilot-agent/rotation.ts';
import { type Identity, SecretHolder } from '../../../src/pilot-agent/secrets.ts';
import { FakeClock } from '../../fakes/clock.ts';
import { type LogEntry, MemoryLogger } from '../../fakes/memory-logger.ts';
import { TestRoot } from '../../harness/test-authority.ts';

const START = '2026-01-01T00:00:00Z';
const HOUR = 3_600_000;

describe('certificate rotation', () => {
  let clock: FakeClock;
  let holder: SecretHolder;
  let logger: MemoryLogger;
  let root: TestRoot;
  let chainPem: string;
  let stop: AbortController;
  let running: Promise<void>;
  let requests: number;
  /** What the next requests do; an identity when there is nothing. */
  let failures: MeshError[];

  before(async () => {
    root = await TestRoot.create(new Date(START));
    chainPem = await root.issue((await generateKeyPair('ec-p256')).publicKey, [], seconds(3600), new Date(START));
  });

  beforeEach(() => {
    clock = new FakeClock(START);
    holder = new SecretHolder();
    logger = new MemoryLogger();
    stop = new AbortController();
    requests = 0;
    failures = [];
  });

  afterEach(async () => {
    stop.abort();
    await running;
  });

  const request: RequestIdentity = async () => {
    requests += 1;
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    const now = clock.now();
    return { keyPem: new Redacted('key'), chainPem, obtainedAt: now, notAfter: new Date(now.getTime() + HOUR) };
  };

  const start = (): void => {
    running = keepIdentityFresh({ request, holder, clock, random: () => 0, logger, metrics: new AgentMetrics() }, stop.signal);
  };

  it('asks as soon as there are roots, not before', async () => {
    start();
    await settled();
    expect(requests).to.equal(0);
    holder.set({ rootsPem: root.pem });
    await settled();
    expect(requests).to.equal(1);
    expect(holder.current.identity).not.to.equal(undefined);
  });

  it('renews at half of the life', async () => {
    holder.set({ rootsPem: root.pem });
    start();
    await clock.sleeping();
    let before = requests;
    while (clock.elapsed() < HOUR / 2) {
      before = requests;
      await clock.wakeNext();
      await settled();
    }
    expect([before, requests]).to.deep.equal([1, 2]);
    expect(clock.elapsed()).to.be.lessThan(HOUR / 2 + 60_001);
  });

  it('renews in good time when the clock is set forward', async () => {
    holder.set({ rootsPem: root.pem });
    start();
    await clock.wakeNext();
    const before = requests;
    await clock.sleeping();
    clock.jump(HOUR * 0.75);
    await clock.wakeNext();
    await settled();
    expect(requests).to.equal(before + 1);
    expect(clock.elapsed()).to.be.lessThan(30_000);
  });

  it('does not renew before the time when the clock is set back', async () => {
    holder.set({ rootsPem: root.pem });
    start();
    await clock.wakeNext();
    const before = requests;
    clock.jump(-HOUR / 4);
    while (clock.elapsed() < HOUR * 0.7) await clock.wakeNext();
    expect(requests).to.equal(before);
    while (clock.elapsed() < HOUR * 0.8) await clock.wakeNext();
    expect(requests).to.equal(before + 1);
  });

  it('tries again, waiting longer each time, and keeps what it has', async () => {
    holder.set({ rootsPem: root.pem });
    failures = Array.from({ length: 3 }, () => new MeshError('unavailable', 'no authority'));
    start();
    const waits: number[] = [];
    for (let attempt = 0; attempt < 3; attempt += 1) {
      waits.push(await clock.sleeping());
      await clock.wakeNext();
      await settled();
    }
    expect(waits).to.deep.equal([250, 500, 1000]);
    expect(holder.current.identity).not.to.equal(undefined);
    expect(logger.entries.map(printed).filter((line) => line.startsWith('warn'))).to.deep.equal(
      Array(3).fill('warn: no certificate yet: the request failed'),
    );
  });

  it('keeps the certificate through an outage, louder and louder', async () => {
    holder.set({ rootsPem: root.pem });
    start();
    await clock.sleeping();
    const { identity } = holder.current;
    failures = Array.from({ length: 10_000 }, () => new MeshError('unavailable', 'no authority'));
    while (clock.elapsed() < HOUR + 60_000) {
      await clock.wakeNext();
      await settled();
    }
    expect(holder.current.identity).to.equal(identity);
    expect([...new Set(logger.entries.map(printed))].slice(1)).to.deep.equal([
      'warn: the certificate cannot be renewed yet',
      'error: the certificate expires soon and cannot be renewed',
      'error: the certificate has expired and cannot be renewed: peers refuse this workload',
    ]);
  });

  it('asks at once when the certificate does not lead to the new roots', async () => {
    holder.set({ rootsPem: root.pem });
    start();
    await clock.wakeNext();
    await settled();
    expect(requests).to.equal(1);
    holder.set({ rootsPem: (await TestRoot.create(new Date(START))).pem });
    await settled();
    expect(requests).to.equal(2);
  });

  it('comes earlier by chance, never later than at half of the life', () => {
    const identity: Identity = {
      keyPem: new Redacted('key'),
      chainPem: '',
      obtainedAt: new Date(0),
      notAfter: new Date(100_000),
    };
    expect(renewalTime(identity, () => 0).getTime()).to.equal(50_000);
    expect(renewalTime(identity, () => 0.999).getTime()).to.be.within(40_000, 41_000);
  });
});

/** Lets everything run that waits for nothing outside. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const printed = ({ level, message }: LogEntry): string => `${level}: ${message}`;
