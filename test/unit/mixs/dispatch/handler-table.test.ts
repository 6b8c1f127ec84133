import { expect } from 'chai';
import { HandlerTable } from '../../../../src/mixs/dispatch/handler-table.ts';
import { compileConfiguration } from '../../../../src/rules/config/compile.ts';
import { ruleObject } from '../../../fakes/rule-objects.ts';

describe('the table of handlers', () => {
  it('ends only when those that were replaced are flushed too', async () => {
    const flushed = Promise.withResolvers<void>();
    const grace = Promise.withResolvers<void>();
    const told: string[] = [];
    const table = new HandlerTable({
      open: () => ({
        close: async () => {
          await flushed.promise;
          told.push('flushed');
        },
      }),
      onProblem: (_, { message }) => told.push(message),
      graceMs: 5_000,
      sleep: () => grace.promise,
    });
    const { handlers } = compileConfiguration([ruleObject('noop', 'one')]);
    expect([...table.update(handlers.values()).keys()]).to.deep.equal(['one.noop.mesh-system']);
    table.update([]);
    const closed = table.close().then(() => told.push('closed'));
    grace.resolve();
    flushed.resolve();
    await closed;
    expect(told).to.deep.equal(['flushed', 'closed']);
  });

  it('does not wait for one that hangs, throws or is rejected at its end', async () => {
    const ends: (() => Promise<void>)[] = [
      () => new Promise(() => {}),
      () => {
        throw new Error('thrown');
      },
      () => Promise.reject(new Error('rejected')),
    ];
    const told: string[] = [];
    const table = new HandlerTable({
      open: () => ({ close: ends.pop() ?? (async () => {}) }),
      onProblem: ({ id }, { message }) => told.push(`${id} ${message}`),
      graceMs: 20,
      sleep: async () => {},
    });
    const { handlers } = compileConfiguration(['a', 'b', 'c', 'd'].map((name) => ruleObject('noop', name)));
    table.update(handlers.values());
    await table.close();
    expect(told).to.deep.equal([
      'b.noop.mesh-system thrown',
      'a.noop.mesh-system rejected',
      'c.noop.mesh-system the handler does not end: what it still had is lost',
    ]);
  });
});
