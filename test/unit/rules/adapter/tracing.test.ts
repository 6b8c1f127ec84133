import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { loadAll } from 'js-yaml';
import type { KubeObject } from '../../../../src/model/object.ts';
import type { AdapterSpec } from '../../../../src/rules/adapter/adapter-spec.ts';
import { opentelemetry } from '../../../../src/rules/adapter/opentelemetry.ts';
import { zipkin } from '../../../../src/rules/adapter/zipkin.ts';
import { compileConfiguration } from '../../../../src/rules/config/compile.ts';
import { ruleObject } from '../../../fakes/rule-objects.ts';

function problemsOf(adapter: AdapterSpec, spec: object): readonly string[] {
  const parsed = adapter.parse(spec, []);
  return parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${path}: ${message}`);
}

describe('handlers of spans and log entries', () => {
  it('need a URL of HTTP without a password in it', () => {
    expect(problemsOf(zipkin, {})).to.deep.equal(['url: is required']);
    expect(problemsOf(zipkin, { url: 'zipkin:9411' })).to.deep.equal(['url: "zipkin:9411" is no http or https URL']);
    expect(problemsOf(opentelemetry, { url: 'here' })).to.deep.equal(['url: "here" is no URL such as http://collector:4318']);
    const secret = problemsOf(opentelemetry, { url: 'http://user:secret@collector' });
    expect(secret).to.deep.equal(['url: must not hold a user name or password']);
  });

  it('have bounds within bounds', () => {
    const spec = { url: 'http://z', sampleProbability: 2, flushInterval: '1ms', deadline: '5m', maxQueued: 0, other: 1 };
    expect(problemsOf(zipkin, spec).map((problem) => problem.split(':')[0])).to.have.members([
      'other',
      'sampleProbability',
      'flushInterval',
      'deadline',
      'maxQueued',
    ]);
  });

  it('work as the reference page shows', () => {
    const page = readFileSync('docs/reference/mixs-tracing.md', 'utf8');
    const example = loadAll(/```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? '') as readonly KubeObject[];
    const rule = ruleObject('rule', 'trace', { actions: [{ handler: 'spans.zipkin', instances: ['request.tracespan'] }] });
    const { problems, handlers } = compileConfiguration([...example, rule], undefined);
    expect(problems).to.deep.equal([]);
    expect([...handlers.keys()]).to.deep.equal(['spans.zipkin.mesh-system']);
  });
});
