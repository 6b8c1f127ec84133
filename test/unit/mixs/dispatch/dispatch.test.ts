import { expect } from 'chai';
import { type Duration, milliseconds } from '../../../../src/lib/duration.ts';
import type { CheckResult, Handler, QuotaResult } from '../../../../src/mixs/adapter/adapter.ts';
import { createDispatcher } from '../../../../src/mixs/dispatch/dispatch.ts';
import type { Dispatcher } from '../../../../src/mixs/dispatch/dispatcher.ts';
import { HANDLER_LIMIT } from '../../../../src/mixs/dispatch/handler-call.ts';
import { WorkerPool } from '../../../../src/mixs/worker-pool.ts';
import type { KubeObject } from '../../../../src/model/object.ts';
import { compileConfiguration } from '../../../../src/rules/config/compile.ts';
import { bagOf } from '../../../fakes/attributes.ts';
import { ruleObject as object } from '../../../fakes/rule-objects.ts';

const SIGNAL = new AbortController().signal;
const answer = (code: number, message = '', validMs = 5_000, validUses = 7): CheckResult => ({
  status: { code, message },
  validMs,
  validUses,
});

/** The kind of a handler of a name: that of its adapter, for those that noop cannot stand for. */
const kindOf = (name: string): string => (name === 'kubernetesenv' ? name : 'noop');

/** A dispatcher over rules; handlers are noop ones in the configuration, and `handlers` by name here. */
function dispatcherOf(
  rules: readonly KubeObject[],
  handlers: Readonly<Record<string, Partial<Handler>>>,
  {
    singleThreaded = false,
    workers = 100,
    pool = new WorkerPool(workers),
    handlerLimit = HANDLER_LIMIT,
  }: {
    readonly singleThreaded?: boolean;
    readonly workers?: number;
    readonly pool?: WorkerPool;
    readonly handlerLimit?: Duration;
  } = {},
): { readonly dispatcher: Dispatcher; readonly told: string[] } {
  const instances = [
    object('checknothing', 'nothing'),
    object('listentry', 'path', { value: 'request.path' }),
    object('metric', 'size', { value: 'request.size | 0' }),
    object('quota', 'count', { dimensions: { user: 'source.user' } }),
    object('kubernetes', 'pods', { sourceIp: 'source.ip', attributeBindings: { 'source.name': '$out.source_pod_name' } }),
  ];
  const noops = Object.keys(handlers).map((name) => object(kindOf(name), name));
  const configuration = compileConfiguration([...instances, ...noops, ...rules]);
  expect(configuration.problems).to.deep.equal([]);
  const open = new Map(
    Object.entries(handlers).map(([name, handler]): [string, Handler] => [
      `${name}.${kindOf(name)}.mesh-system`,
      { close: async () => {}, ...handler },
    ]),
  );
  const told: string[] = [];
  const dispatcher = createDispatcher(configuration, open, {
    defaultNamespace: 'mesh-system',
    elapsed: () => 0,
    singleThreaded,
    pool,
    handlerLimit,
    meter: {
      called: (handler, _adapter, template, outcome) => told.push(`${handler} ${template} ${outcome}`),
      skipped: (what, reason) => told.push(`${what} skipped: ${reason}`),
    },
  });
  return { dispatcher, told };
}

const rule = (name: string, match: string, handler: string, instance: string, namespace?: string): KubeObject =>
  object(
    'rule',
    name,
    { match, actions: [{ handler: `${handler}.${kindOf(handler)}.mesh-system`, instances: [`${instance}.mesh-system`] }] },
    namespace,
  );

describe('checks', () => {
  it('take the strictest answer of all handlers whose rules match', async () => {
    const { dispatcher, told } = dispatcherOf(
      [
        rule('a', 'source.namespace == "foo"', 'one', 'nothing.checknothing'),
        rule('b', '', 'two', 'nothing.checknothing'),
        rule('c', 'source.namespace == "bar"', 'three', 'nothing.checknothing'),
      ],
      {
        one: { check: () => answer(7, 'no') },
        two: { check: async () => answer(5, 'never heard of it', 1_000, 100) },
        three: { check: () => answer(16, 'never') },
      },
    );
    expect(await dispatcher.check(bagOf({ 'source.namespace': 'foo' }), SIGNAL)).to.deep.equal({
      status: { code: 5, message: 'two.noop.mesh-system:never heard of it, one.noop.mesh-system:no' },
      validMs: 1_000,
      validUses: 7,
      requestHeaders: [],
      responseHeaders: [],
    });
    expect(told).to.have.members(['one.noop.mesh-system checknothing ok', 'two.noop.mesh-system checknothing ok']);
  });

  it('are granted for a minute and 10,000 uses where no rule matches', () => {
    const { dispatcher } = dispatcherOf([], {});
    expect(dispatcher.check(bagOf({}), SIGNAL)).to.deep.include({
      status: { code: 0, message: '' },
      validMs: 60_000,
      validUses: 10_000,
    });
  });

  it('use the rules of the mesh and of the namespace that is called', async () => {
    const asked: string[] = [];
    const ask = (name: string): Partial<Handler> => ({
      check: () => {
        asked.push(name);
        return answer(0);
      },
    });
    const { dispatcher } = dispatcherOf(
      [
        rule('mesh', '', 'mesh', 'nothing.checknothing'),
        rule('foo', '', 'foo', 'nothing.checknothing', 'foo'),
        rule('bar', 'destination.service == "a.bar.svc.cluster.local"', 'bar', 'nothing.checknothing', 'bar'),
      ],
      { mesh: ask('mesh'), foo: ask('foo'), bar: ask('bar') },
    );
    const check = async (attributes: Parameters<typeof bagOf>[0]): Promise<readonly string[]> => {
      asked.length = 0;
      await dispatcher.check(bagOf(attributes), SIGNAL);
      return [...asked];
    };
    expect(await check({ 'destination.service': 'a.bar.svc.cluster.local' })).to.deep.equal(['mesh', 'bar']);
    expect(await check({ 'destination.service': 'b.bar.svc.cluster.local' })).to.deep.equal(['mesh']);
    expect(await check({ 'destination.namespace': 'foo' })).to.deep.equal(['mesh', 'foo']);
  });

  it('fail closed when a handler throws, is not open, or lacks what it needs of the request', async () => {
    const { dispatcher, told } = dispatcherOf(
      [
        rule('a', '', 'one', 'nothing.checknothing'),
        rule('b', '', 'two', 'path.listentry'),
        rule('c', '', 'three', 'nothing.checknothing'),
      ],
      {
        one: {
          check: () => {
            throw new Error('broken');
          },
        },
        two: { check: () => answer(0) },
        three: {},
      },
    );
    const { status } = await dispatcher.check(bagOf({}), SIGNAL);
    expect(status).to.deep.equal({
      code: 13,
      message:
        'one.noop.mesh-system:broken, two.noop.mesh-system:path.listentry.mesh-system: the request has no value, three.noop.mesh-system:the handler is not open',
    });
    expect(told).to.include('path.listentry.mesh-system skipped: value');
  });

  it('do not wait for a handler when the request is over', async () => {
    const { dispatcher, told } = dispatcherOf([rule('a', '', 'one', 'nothing.checknothing')], {
      one: { check: () => new Promise(() => {}) },
    });
    const request = new AbortController();
    const checking = dispatcher.check(bagOf({}), request.signal);
    request.abort();
    expect((await checking).status.code).to.equal(4);
    expect(told).to.deep.equal(['one.noop.mesh-system checknothing timed out']);
  });

  it('run one after the other where that is asked for', async () => {
    const order: string[] = [];
    const slow = (name: string): Partial<Handler> => ({
      check: async () => {
        order.push(`${name} begins`);
        await new Promise(setImmediate);
        order.push(`${name} ends`);
        return answer(0);
      },
    });
    const { dispatcher } = dispatcherOf(
      [rule('a', '', 'one', 'nothing.checknothing'), rule('b', '', 'two', 'nothing.checknothing')],
      { one: slow('one'), two: slow('two') },
      { singleThreaded: true },
    );
    await dispatcher.check(bagOf({}), SIGNAL);
    expect(order).to.deep.equal(['one begins', 'one ends', 'two begins', 'two ends']);
  });

  it('wait for a worker where handlers wait for their back ends, and are refused where too many wait', async () => {
    const back: (() => void)[] = [];
    const waits: Partial<Handler> = { check: () => new Promise((resolve) => back.push(() => resolve(answer(0)))) };
    const { dispatcher } = dispatcherOf([rule('a', '', 'one', 'nothing.checknothing')], { one: waits }, { workers: 1 });
    const checks = Array.from({ length: 12 }, () => dispatcher.check(bagOf({}), SIGNAL));
    expect(back).to.have.length(1);
    while (back.length > 0) {
      back.shift()?.();
      await new Promise(setImmediate);
    }
    const codes = (await Promise.all(checks)).map(({ status }) => status.code);
    expect(codes.filter((code) => code === 0)).to.have.length(9);
    expect(codes.filter((code) => code === 8)).to.have.length(3);
  });

  it('set headers where the request is granted', async () => {
    const headers = object('rule', 'h', {
      match: 'source.namespace == "foo"',
      requestHeaderOperations: [
        { name: 'X-Caller', values: ['source.name', 'source.user'], operation: 'REPLACE' },
        { name: 'cookie', operation: 'REMOVE' },
      ],
      responseHeaderOperations: [{ name: 'x-by', values: ['"mesh"'], operation: 'APPEND' }],
    });
    const { dispatcher } = dispatcherOf([headers], {});
    const bag = bagOf({ 'source.namespace': 'foo', 'source.name': 'sleep' });
    expect(await dispatcher.check(bag, SIGNAL)).to.deep.include({
      requestHeaders: [
        { name: 'x-caller', operation: 'REPLACE', value: 'sleep' },
        { name: 'cookie', operation: 'REMOVE', value: '' },
      ],
      responseHeaders: [{ name: 'x-by', operation: 'APPEND', value: 'mesh' }],
    });
  });
});

describe('quotas', () => {
  const REQUEST = { amount: 5, bestEffort: false, deduplicationId: 'a' };
  const granted = (amount: number): QuotaResult => ({ status: { code: 0, message: '' }, granted: amount, validMs: 1_000 });

  it('are the least that handlers grant, by the short name and the whole one', async () => {
    const { dispatcher } = dispatcherOf([rule('a', '', 'one', 'count.quota'), rule('b', '', 'two', 'count.quota')], {
      one: { quota: () => granted(3) },
      two: { quota: ({ name, dimensions }) => granted(name === 'count.quota.mesh-system' && 'user' in dimensions ? 2 : 9) },
    });
    for (const name of ['count', 'count.quota', 'count.quota.mesh-system']) {
      expect(await dispatcher.quota(name, bagOf({ 'source.user': 'u' }), REQUEST, SIGNAL)).to.deep.equal(granted(2));
    }
  });

  it('grant nothing under a name that no rule knows, and tell so', async () => {
    const { dispatcher, told } = dispatcherOf([rule('a', '', 'one', 'count.quota')], { one: { quota: () => granted(3) } });
    expect(await dispatcher.quota('cuont', bagOf({}), REQUEST, SIGNAL)).to.deep.equal({
      status: { code: 5, message: 'no rule allocates a quota "cuont"' },
      granted: 0,
      validMs: 0,
    });
    expect(told).to.deep.equal(['(unknown quota) skipped: no rule allocates cuont']);
  });

  it('bound nothing where no rule matches, and grant nothing where the handler fails', async () => {
    const { dispatcher } = dispatcherOf([rule('a', 'source.namespace == "foo"', 'one', 'count.quota')], {
      one: { quota: () => Promise.reject(new Error('down')) },
    });
    expect((await dispatcher.quota('count', bagOf({}), REQUEST, SIGNAL)).granted).to.equal(5);
    expect(await dispatcher.quota('count', bagOf({ 'source.namespace': 'foo' }), REQUEST, SIGNAL)).to.deep.equal({
      status: { code: 13, message: 'down' },
      granted: 0,
      validMs: 0,
    });
  });
});

describe('reports', () => {
  it('reach a handler in one batch, without those that lack something', async () => {
    const batches: unknown[] = [];
    const { dispatcher } = dispatcherOf(
      [rule('a', 'source.namespace == "foo"', 'one', 'size.metric'), rule('b', '', 'two', 'size.metric')],
      {
        one: {
          report: (instances) =>
            void batches.push(instances.map(({ values }) => (values as { value: { value: unknown } }).value.value)),
        },
        two: {
          report: () => {
            throw new Error('down');
          },
        },
      },
    );
    await dispatcher.report(
      [
        bagOf({ 'source.namespace': 'foo', 'request.size': 1n }),
        bagOf({ 'source.namespace': 'bar' }),
        bagOf({ 'source.namespace': 'foo' }),
      ],
      SIGNAL,
    );
    expect(batches).to.deep.equal([[1n, 0n]]);
  });
});

describe('attributes that handlers know', () => {
  const pods = (attributes: NonNullable<Handler['attributes']>, report: Handler['report'] = () => {}) =>
    dispatcherOf(
      [
        rule('a', '', 'kubernetesenv', 'pods.kubernetes'),
        rule('b', 'source.name == "sleep"', 'log', 'size.metric'),
        rule('c', '', 'log', 'size.metric'),
      ],
      { kubernetesenv: { attributes }, log: { report } },
    );
  const bag = bagOf({ 'source.ip': '10.0.0.1' });

  it('are there for those who ask', async () => {
    const { dispatcher, told } = pods(() => ({ source: { podName: 'sleep' }, destination: undefined }));
    expect((await dispatcher.prepare(bag, SIGNAL)).get('source.name')).to.equal('sleep');
    expect(told).to.deep.equal(['kubernetesenv.kubernetesenv.mesh-system kubernetes ok']);
  });

  it('are missed by checks when their handler fails, and not by reports', async () => {
    const batches: number[] = [];
    const { dispatcher, told } = pods(
      () => {
        throw new Error('broken');
      },
      (instances) => void batches.push(instances.length),
    );
    expect(() => dispatcher.prepare(bag, SIGNAL))
      .to.throw('kubernetesenv.kubernetesenv.mesh-system: broken')
      .with.property('code', 'unavailable');
    await dispatcher.report([bag, bag], SIGNAL);
    expect(batches).to.deep.equal([2]);
    expect(told.filter((text) => text === 'kubernetesenv.kubernetesenv.mesh-system kubernetes failed')).to.have.lengthOf(3);
  });
});

describe('calls that wait for a worker', () => {
  it('fail when none is free in the time that their handler has', async () => {
    const pool = new WorkerPool(1);
    const others = Promise.withResolvers<void>();
    const held = pool.hold(others.promise);
    const { dispatcher, told } = dispatcherOf(
      [rule('a', '', 'late', 'nothing.checknothing')],
      { late: { check: async () => answer(0) } },
      { pool, handlerLimit: milliseconds(50) },
    );
    const ask = () => dispatcher.check(bagOf({}), SIGNAL);
    for (const { status } of await Promise.all([ask(), ask()])) {
      expect(status).to.deep.equal({ code: 4, message: 'late.noop.mesh-system:no worker was free in 50ms' });
    }
    expect(told).to.deep.equal(Array(2).fill('late.noop.mesh-system checknothing timed out'));
    expect(pool.waiting).to.equal(0);
    others.resolve();
    await held;
    expect((await ask()).status.code).to.equal(0);
  });
});
