import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { milliseconds } from '../../../src/lib/duration.ts';
import { MeshError } from '../../../src/lib/errors.ts';
import { namesFor } from '../../../src/lib/names.ts';
import { joinElection } from '../../../src/mesh_ca/election.ts';
import type { Leadership } from '../../../src/mesh_ca/leadership.ts';
import { kindsFor } from '../../../src/model/kinds.ts';
import type { KubeObject, ObjectRef } from '../../../src/model/object.ts';
import { MemoryStore } from '../../../src/sources/store/memory.ts';
import { FakeClock } from '../../fakes/clock.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';

const kinds = kindsFor(namesFor('mesh.io'));
const LEASE: ObjectRef = { kind: kinds.lease, namespace: 'mesh-system', name: 'mesh-citadel' };

/** A store that can be out of reach, or hold a call back until it is let go. */
class FlakyStore extends MemoryStore {
  away = false;
  held: Promise<void> | undefined;

  override async get(ref: ObjectRef): Promise<KubeObject> {
    this.#check();
    return super.get(ref);
  }

  override async create(object: KubeObject): Promise<KubeObject> {
    this.#check();
    return super.create(object);
  }

  override async replace(object: KubeObject): Promise<KubeObject> {
    await this.held;
    this.#check();
    return super.replace(object);
  }

  #check(): void {
    if (this.away) throw new MeshError('unavailable', 'the API server is away');
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the election of a leader', () => {
  let clock: FakeClock;
  let store: FlakyStore;
  let stop: AbortController;
  beforeEach(() => {
    clock = new FakeClock('2026-05-01T00:00:00Z');
    store = new FlakyStore({ kinds, now: () => clock.now(), newUid: randomUUID });
    stop = new AbortController();
  });
  afterEach(() => stop.abort());

  const join = (identity: string, over = store): Leadership =>
    joinElection({
      store: over,
      kinds,
      namespace: 'mesh-system',
      name: 'mesh-citadel',
      identity,
      now: () => clock.now(),
      uptime: () => milliseconds(clock.elapsed()),
      random: () => 0.5,
      sleep: (time, signal) => clock.sleep(time, signal),
      logger: new MemoryLogger(),
      signal: stop.signal,
    });

  async function pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      await settle();
      clock.advance(1_000);
    }
    await settle();
  }

  const lease = async (): Promise<Record<string, unknown>> => (await store.get(LEASE))['spec'] as Record<string, unknown>;

  it('has one winner, who keeps the lease', async () => {
    const [a, b] = [join('a'), join('b')];
    await pass(60);
    expect([a.term() !== undefined, b.term() !== undefined]).to.deep.equal([true, false]);
    expect(await lease()).to.deep.equal({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '2026-05-01T00:00:00.000000Z',
      renewTime: '2026-05-01T00:01:00.000000Z',
      leaseTransitions: 0,
    });
  });

  it('goes on with another one at once when the leader resigns', async () => {
    const [a, b] = [join('a'), join('b')];
    await pass(4);
    const term = a.term();
    let begun = 0;
    b.onTerm(() => {
      begun += 1;
    });
    await a.resign();
    await pass(3);
    expect([term?.aborted, a.term(), b.term()?.aborted, begun]).to.deep.equal([true, undefined, false, 1]);
    expect(await lease()).to.include({ holderIdentity: 'b', leaseTransitions: 1 });
  });

  it('goes on with another one 15 s after the last renewal when the leader is gone, and not before', async () => {
    const gone = new FlakyStore({ kinds, now: () => clock.now(), newUid: randomUUID });
    const a = join('a', gone);
    await pass(1);
    await store.create(await gone.get(LEASE));
    expect(a.term()?.aborted).to.equal(false);
    const b = join('b');
    await pass(14);
    expect(b.term()).to.equal(undefined);
    await pass(5);
    expect(b.term()?.aborted).to.equal(false);
  });

  it('ends the term of a leader that cannot renew the lease before anybody else can begin', async () => {
    const a = join('a');
    await pass(1);
    const term = a.term();
    store.away = true;
    await pass(8);
    expect(term?.aborted).to.equal(false);
    await pass(2);
    expect([term?.aborted, a.term()]).to.deep.equal([true, undefined]);
    store.away = false;
    await pass(3);
    expect(a.term()?.aborted).to.equal(false);
  });

  it('ends it in time though a renewal hangs, and that of a process that stood still', async () => {
    const a = join('a');
    await pass(1);
    const term = a.term();
    const { promise, resolve } = Promise.withResolvers<void>();
    store.held = promise;
    await pass(12);
    expect(term?.aborted).to.equal(true);
    resolve();
    await settle();
    expect(a.term(), 'a renewal counts from when it began').to.equal(undefined);
  });

  it('follows no clock but its own: a lease of a replica whose clock is wrong is good', async () => {
    join('a');
    await pass(1);
    const [first] = [await store.get(LEASE)];
    const spec = { ...(first['spec'] as object), holderIdentity: 'other', renewTime: '1999-01-01T00:00:00.000000Z' };
    await store.replace({ ...first, spec });
    const b = join('b');
    await pass(10);
    expect(b.term()).to.equal(undefined);
  });

  it('is not upset by somebody who touches the lease', async () => {
    const a = join('a');
    await pass(1);
    const term = a.term();
    const before = await store.get(LEASE);
    await store.replace({ ...before, metadata: { ...before.metadata, labels: { mine: 'x' } } });
    await pass(30);
    expect([term?.aborted, (await store.get(LEASE)).metadata.labels]).to.deep.equal([false, { mine: 'x' }]);
  });
});
