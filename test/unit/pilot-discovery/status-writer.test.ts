import { expect } from 'chai';
import { MeshError } from '../../../src/lib/errors.ts';
import { namesFor } from '../../../src/lib/names.ts';
import { kindsFor } from '../../../src/model/kinds.ts';
import type { KubeObject, ResourceKind } from '../../../src/model/object.ts';
import { parsePolicy } from '../../../src/model/parse/policy.ts';
import type { PolicyReport } from '../../../src/pilot-discovery/policy-report.ts';
import { createStatusWriter } from '../../../src/pilot-discovery/status-writer.ts';
import { MemoryStore } from '../../../src/sources/store/memory.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';
import { policy } from '../../harness/discovery-manifests.ts';

const names = namesFor('mesh.io');
const kinds = kindsFor(names);

function report(name: string, changes: Partial<PolicyReport> = {}): PolicyReport {
  const parsed = parsePolicy(policy(name), names);
  if (!parsed.ok) throw new Error('the policy is wrong');
  const none = { rejected: undefined, conflict: undefined, services: [], proxies: { connected: 0, acknowledged: 0 } };
  return { ...none, policy: parsed.value, ...changes };
}
const faulty = (name: string): PolicyReport => report(name, { rejected: 'no' });

describe('writing the status of policies', () => {
  let store: MemoryStore;
  let reports: Map<string, PolicyReport>;
  let due: (() => void)[];
  let replaced: number;
  let stop: AbortController;

  beforeEach(() => {
    let uids = 0;
    store = new MemoryStore({ kinds, now: () => new Date(0), newUid: () => `00000000-0000-4000-8000-00000000000${++uids}` });
    reports = new Map([['Policy foo/p', faulty('p')]]);
    due = [];
    replaced = 0;
    stop = new AbortController();
  });

  const writer = (replace = (object: KubeObject) => store.replace(object), list = (kind: ResourceKind) => store.list(kind)) =>
    createStatusWriter({
      store: {
        list,
        replace: async (object) => {
          replaced += 1;
          return replace(object);
        },
      },
      kinds: [kinds.policy, kinds.meshPolicy],
      names,
      reports: () => reports,
      reporterId: 'a',
      now: () => new Date(0),
      timer: (run) => {
        due.push(run);
        return () => {};
      },
      logger: new MemoryLogger(),
      signal: stop.signal,
    });
  /** Runs what the timer was given, until nothing more is. */
  const settle = async (rounds = 10): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) {
      for (const run of due.splice(0)) run();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const accepted = async (): Promise<unknown> => {
    const { status } = (await store.get({ kind: kinds.policy, namespace: 'foo', name: 'p' })) as {
      status?: { conditions: object[] };
    };
    return status?.conditions.map((condition) => (condition as { status: string }).status);
  };

  it('writes what is wrong once, however often it is touched, and clears it', async () => {
    await store.create(policy('p'));
    const status = writer();
    for (let time = 0; time < 5; time += 1) status.touch();
    expect(due).to.have.length(1);
    await settle();
    status.touch();
    await settle();
    expect([await accepted(), replaced]).to.deep.equal([['False'], 1]);
    reports.set('Policy foo/p', report('p'));
    status.touch();
    await settle();
    expect(await accepted()).to.deep.equal(['True']);
  });

  it('tries again on what is there now when somebody else was quicker', async () => {
    await store.create(policy('p'));
    let first = true;
    writer((object) => {
      if (!first) return store.replace(object);
      first = false;
      throw new MeshError('conflict', 'changed by somebody else');
    }).touch();
    await settle();
    expect([await accepted(), replaced]).to.deep.equal([['False'], 2]);
  });

  it('writes a bounded number in one round, and the rest in the next', async () => {
    for (let index = 0; index < 60; index += 1) {
      await store.create(policy(`p${index}`));
      reports.set(`Policy foo/p${index}`, faulty(`p${index}`));
    }
    writer().touch();
    await settle(1);
    expect(replaced).to.equal(50);
    await settle();
    expect(replaced).to.equal(60);
  });

  it('asks for nothing where there are no policies, nor where nothing has changed', async () => {
    let lists = 0;
    const list = (kind: ResourceKind) => {
      lists += 1;
      return store.list(kind);
    };
    reports.clear();
    const status = writer(undefined, list);
    status.touch();
    await settle();
    expect(lists).to.equal(0);
    reports.set('Policy foo/p', report('p'));
    for (let time = 0; time < 5; time += 1) {
      status.touch();
      await settle();
    }
    expect(lists, 'one for each kind').to.equal(2);
  });

  it('is slow with mere numbers', async () => {
    await store.create(policy('p'));
    const delays: number[] = [];
    const status = createStatusWriter({
      store,
      kinds: [kinds.policy],
      names,
      reports: () => reports,
      reporterId: 'a',
      now: () => new Date(0),
      timer: (run, delay) => {
        delays.push(delay);
        due.push(run);
        return () => {};
      },
      logger: new MemoryLogger(),
      signal: stop.signal,
    });
    const connected = (count: number) => report('p', { proxies: { connected: count, acknowledged: count } });
    for (const count of [1, 2]) {
      reports.set('Policy foo/p', connected(count));
      status.touch();
      await settle(2);
    }
    expect(delays.slice(0, 3)).to.deep.equal([2_000, 2_000, 30_000]);
  });

  it('leaves files alone that people wrote', async () => {
    const written = { ...policy('p'), metadata: { name: 'p', namespace: 'foo', uid: '00000000-0000-8000-8000-000000000000' } };
    writer(undefined, async () => [written]).touch();
    await settle();
    expect(replaced).to.equal(0);
  });
});
