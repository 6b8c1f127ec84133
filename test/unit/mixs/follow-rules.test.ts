import { expect } from 'chai';
import { namesFor } from '../../../src/lib/names.ts';
import { followRules } from '../../../src/mixs/follow-rules.ts';
import { WorkerPool } from '../../../src/mixs/worker-pool.ts';
import { allKinds, ruleKinds } from '../../../src/rules/config/kinds.ts';
import { MemoryStore } from '../../../src/sources/store/memory.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';
import { ruleObject } from '../../fakes/rule-objects.ts';

describe('rules that are followed', () => {
  it('stay in force when what is done about a change fails, and the next change is taken', async () => {
    const names = namesFor('mesh.io');
    const store = new MemoryStore({ kinds: allKinds(names), now: () => new Date(0), newUid: () => 'uid' });
    await store.create(ruleObject('noop', 'zeroth'));
    const logger = new MemoryLogger();
    const stop = new AbortController();
    const due: (() => void)[] = [];
    let changes = 0;
    const rules = await followRules({
      store,
      kinds: ruleKinds(names.domain).map(({ resource }) => resource),
      dispatch: {
        defaultNamespace: 'mesh-system',
        meter: { called: () => {}, skipped: () => {} },
        pool: new WorkerPool(1),
        elapsed: () => 0,
        singleThreaded: false,
      },
      open: () => ({ close: async () => {} }),
      onChange: () => {
        if (++changes === 2) throw new Error('no room for metrics');
      },
      timers: { now: () => 0, set: (run) => due.push(run), clear: () => {} },
      sleep: async () => {},
      logger,
      signal: stop.signal,
    });
    const change = async (name: string): Promise<void> => {
      await store.create(ruleObject('noop', name));
      while (due.length === 0) await new Promise((resolve) => setImmediate(resolve));
      for (const run of due.splice(0)) run();
    };
    // What was listed at first is in force: there is nothing to be done about it again.
    for (const run of due.splice(0)) run();
    expect(changes).to.equal(1);
    await change('first');
    expect(logger.entries.filter(({ level }) => level === 'error').map(({ fields }) => fields)).to.deep.equal([
      { reason: 'no room for metrics' },
    ]);
    await change('second');
    expect(changes).to.equal(3);
    expect([...rules.current().configuration.handlers.keys()]).to.deep.equal([
      'first.noop.mesh-system',
      'second.noop.mesh-system',
      'zeroth.noop.mesh-system',
    ]);
    stop.abort();
    await rules.close();
  });
});
