import { expect } from 'chai';
import { openPrometheus } from '../../../../src/mixs/adapter/prometheus.ts';
import { prometheus } from '../../../../src/rules/adapter/prometheus.ts';
import { vocabularyWith } from '../../../../src/rules/attribute/standard-vocabulary.ts';
import type { TypedValue } from '../../../../src/rules/attribute/value.ts';
import { expressionCompiler } from '../../../../src/rules/expression/compile.ts';
import type { CompiledInstance } from '../../../../src/rules/template/template.ts';
import { TEMPLATES } from '../../../../src/rules/template/templates.ts';
import { adapterEnvironment } from '../../../fakes/adapter-environment.ts';

const compile = expressionCompiler(vocabularyWith(new Map()));

function metricInstance(): CompiledInstance {
  const compiled = TEMPLATES.metric.compile(
    'size.metric.ns',
    { value: 'response.size', dimensions: { source: 'source.name' } },
    compile,
  );
  if (!compiled.ok) throw new Error('the instance does not compile');
  return compiled.value;
}

function open(...metrics: readonly object[]) {
  const params = prometheus.parse({ metrics }, [metricInstance()]);
  if (!params.ok) throw new Error(JSON.stringify(params.problems));
  const environment = adapterEnvironment();
  const handler = openPrometheus(params.value, environment);
  const observe = (value: TypedValue, source: string): void => {
    const dimensions = { source: { type: 'STRING', value: source } } as const;
    const values = { name: 'size.metric.ns', value, dimensions, monitoredResourceDimensions: {} };
    void handler.report?.([{ template: 'metric', values }], { signal: environment.signal });
  };
  return { handler, observe, text: () => environment.scraped.text(), environment };
}

const INSTANCE = { instanceName: 'size.metric', labelNames: ['source'] };

describe('the prometheus adapter', () => {
  it('counts, gauges and distributes', async () => {
    const { observe, text } = open(
      { ...INSTANCE, name: 'bytes', kind: 'COUNTER' },
      { ...INSTANCE, name: 'last', kind: 'GAUGE', namespace: '' },
      { ...INSTANCE, name: 'sizes', kind: 'DISTRIBUTION', buckets: { explicitBuckets: { bounds: [10, 100] } } },
    );
    observe({ type: 'INT64', value: 50n }, 'a');
    observe({ type: 'INT64', value: 7n }, 'a');
    observe({ type: 'INT64', value: 1n }, 'b"\n');
    const lines = (await text()).split('\n');
    expect(lines).to.include.members([
      'mesh_bytes{source="a"} 57',
      'mesh_bytes{source="b\\"\\n"} 1',
      'last{source="a"} 7',
      'mesh_sizes_bucket{le="10",source="a"} 1',
      'mesh_sizes_bucket{le="100",source="a"} 2',
      'mesh_sizes_sum{source="a"} 57',
    ]);
  });

  it('counts spans of time in seconds', async () => {
    const { observe, text } = open({ ...INSTANCE, name: 'time', kind: 'COUNTER' });
    observe({ type: 'DURATION', value: 1_500_000_000n }, 'a');
    expect(await text()).to.include('mesh_time{source="a"} 1.5\n');
  });

  it('keeps a bounded number of series, and tells once', async () => {
    const { observe, text, environment } = open({ ...INSTANCE, name: 'bytes', kind: 'COUNTER' });
    for (let caller = 0; caller < 10_050; caller++) observe({ type: 'INT64', value: 1n }, `caller-${caller}`);
    expect((await text()).match(/^mesh_bytes\{/gm)).to.have.length(10_000);
    expect(environment.logger.entries.filter(({ level }) => level === 'warn')).to.have.length(1);
  });

  it('cuts labels that are too long for one', async () => {
    const { observe, text } = open({ ...INSTANCE, name: 'bytes', kind: 'COUNTER' });
    observe({ type: 'INT64', value: 1n }, 'a'.repeat(512));
    observe({ type: 'INT64', value: 2n }, 'b'.repeat(100_000));
    observe({ type: 'INT64', value: 3n }, `${'b'.repeat(100_000)}c`);
    const lines = (await text()).split('\n');
    expect(lines).to.include.members([`mesh_bytes{source="${'a'.repeat(512)}"} 1`, `mesh_bytes{source="${'b'.repeat(511)}…"} 5`]);
  });

  it('is not scraped any more once it is closed', async () => {
    const { handler, text } = open({ ...INSTANCE, name: 'bytes', kind: 'COUNTER' });
    expect(await text()).to.include('mesh_bytes');
    await handler.close(new AbortController().signal);
    expect(await text()).not.to.include('mesh_bytes');
  });

  it('refuses what would count nothing', () => {
    const problems = (metric: object): readonly string[] => {
      const parsed = prometheus.parse({ metrics: [metric] }, [metricInstance()]);
      return parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${path}: ${message}`);
    };
    expect(problems({ name: 'a b', kind: 'SUM', instanceName: 'other', labelNames: ['source'] })).to.deep.equal([
      'metrics[0].name: "mesh_a b" is no name of a metric',
      'metrics[0].instanceName: no rule sends a metric instance "other" here',
      'metrics[0].kind: "SUM" is none of COUNTER, GAUGE, DISTRIBUTION',
    ]);
    expect(problems({ ...INSTANCE, name: 'a', kind: 'COUNTER', labelNames: ['target', 'a-b'] })).to.deep.equal([
      'metrics[0].labelNames[0]: size.metric.ns has no dimension "target"',
      'metrics[0].labelNames[1]: "a-b" is no name of a label',
    ]);
    const buckets = { linearBuckets: { numFiniteBuckets: 0, width: -1 } };
    expect(problems({ ...INSTANCE, name: 'a', kind: 'DISTRIBUTION', buckets })).to.deep.equal([
      'metrics[0].buckets.linearBuckets.width: must be above 0',
      'metrics[0].buckets.linearBuckets.numFiniteBuckets: expected a whole number from 1 to 200, got 0',
    ]);
  });
});
