import { expect } from 'chai';
import { bagFrom } from '../../../../src/rules/attribute/bags.ts';
import { vocabularyWith } from '../../../../src/rules/attribute/standard-vocabulary.ts';
import type { Value } from '../../../../src/rules/attribute/value.ts';
import { expressionCompiler } from '../../../../src/rules/expression/compile.ts';
import type { BuiltInstance } from '../../../../src/rules/template/instances.ts';
import type { CompiledInstance, TemplateName } from '../../../../src/rules/template/template.ts';
import { TEMPLATES } from '../../../../src/rules/template/templates.ts';

const compile = expressionCompiler(vocabularyWith(new Map()));

function compiled<Name extends TemplateName>(template: Name, spec: unknown): CompiledInstance<TemplateName> {
  const result = TEMPLATES[template].compile(`x.${template}.foo`, spec, compile);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.value;
}

function problems(template: TemplateName, spec: unknown): readonly string[] {
  const result = TEMPLATES[template].compile('x', spec, compile);
  return result.ok ? [] : result.problems.map(({ path, message }) => `${path}: ${message}`);
}

const bag = (values: Readonly<Record<string, Value>>) => bagFrom(new Map(Object.entries(values)));

const valuesOf = (built: BuiltInstance | { readonly missing: string }): unknown => ('missing' in built ? built : built.values);

describe('a template', () => {
  it('makes the observation of a metric', () => {
    const metric = compiled('metric', {
      value: 'response.size | 0',
      dimensions: { source: 'source.name | "unknown"', code: 'response.code' },
      monitoredResourceType: '"UNSPECIFIED"',
    });
    expect(metric.types).to.deep.equal({ value: 'INT64', 'dimensions.source': 'STRING', 'dimensions.code': 'INT64' });
    expect(valuesOf(metric.build(bag({ 'response.code': 200n })))).to.deep.equal({
      name: 'x.metric.foo',
      value: { type: 'INT64', value: 0n },
      dimensions: { source: { type: 'STRING', value: 'unknown' }, code: { type: 'INT64', value: 200n } },
      monitoredResourceType: 'UNSPECIFIED',
      monitoredResourceDimensions: {},
    });
  });

  it('leaves out a dimension without a value, and tells what is required and absent', () => {
    const entry = compiled('logentry', { timestamp: 'request.time', variables: { user: 'source.user' } });
    expect(valuesOf(entry.build(bag({ 'request.time': 5n })))).to.deep.include({
      variables: {},
      severity: 'default',
      timestamp: 5n,
    });
    expect(entry.build(bag({}))).to.deep.equal({ missing: 'timestamp' });
  });

  it('groups what belongs together', () => {
    const instance = compiled('authorization', {
      subject: { user: 'source.principal', properties: { ns: 'source.namespace' } },
      action: { method: 'request.method' },
    });
    expect(valuesOf(instance.build(bag({ 'source.principal': 'a', 'request.method': 'GET' })))).to.deep.equal({
      name: 'x.authorization.foo',
      subject: { user: 'a', groups: undefined, properties: {} },
      action: { namespace: undefined, service: undefined, method: 'GET', path: undefined, properties: {} },
    });
  });

  it('tells every mistake of a spec with its path', () => {
    expect(problems('metric', { value: 'respons.size', dimensions: { a: 'source.name ==', b: 5 }, dimension: {} })).to.deep.equal(
      [
        'dimension: unknown field; did you mean "dimensions"?',
        'value: column 1: there is no attribute respons.size; did you mean "response.size"?',
        'dimensions.a: column 15: expected a value, found the end',
        'dimensions.b: must be the text of an expression; write it as text: "5"',
      ],
    );
    expect(problems('listentry', {})).to.deep.equal(['value: is required']);
    expect(
      problems('tracespan', { traceId: '5', spanName: '"a"', startTime: 'request.time', endTime: 'response.time' }),
    ).to.deep.equal(['traceId: column 1: the value must be STRING, not INT64']);
    expect(problems('quota', { dimensions: [] })).to.deep.equal(['dimensions: must be an object']);
    expect(problems('authorization', { subject: { usr: '"a"' } })).to.deep.equal([
      'subject.usr: unknown field; did you mean "user"?',
    ]);
  });

  it('makes attributes of what is known of both ends', () => {
    const source = { podName: 'sleep-1', podIp: '10.0.0.7', labels: new Map([['app', 'sleep']]) };
    expect(compiled('kubernetes', { sourceIp: 'source.ip' }).bind?.(source, undefined)).to.deep.equal(
      new Map<string, Value>([
        ['source.name', 'sleep-1'],
        ['source.ip', '10.0.0.7'],
        ['source.labels', new Map([['app', 'sleep']])],
      ]),
    );
    const bound = compiled('kubernetes', {
      attributeBindings: {
        'source.workload.name': '$out.source_workload_name | "unknown"',
        'destination.ip': '$out.destination_pod_ip',
      },
    });
    expect(bound.bind?.(source, { podIp: '10.0.0.8' })).to.deep.equal(
      new Map([
        ['source.workload.name', 'unknown'],
        ['destination.ip', '10.0.0.8'],
      ]),
    );
    expect(
      problems('kubernetes', { attributeBindings: { 'source.name': '$out.source_labels', 'no.such': '"a"' } }),
    ).to.deep.equal([
      'attributeBindings.source.name: column 1: the value must be STRING, not STRING_MAP ($out.source_labels)',
      'attributeBindings.no.such: column 1: there is no attribute no.such',
    ]);
    expect(problems('kubernetes', { attributeBindings: { 'source.name': { toString: 1 } } })).to.deep.equal([
      'attributeBindings.source.name: must be the text of an expression',
    ]);
  });
});
