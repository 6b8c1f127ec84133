import { expect } from 'chai';
import type { KubeObject } from '../../../../src/model/object.ts';
import { bagFrom } from '../../../../src/rules/attribute/bags.ts';
import type { Value } from '../../../../src/rules/attribute/value.ts';
import { compileConfiguration } from '../../../../src/rules/config/compile.ts';
import { ruleObject } from '../../../fakes/rule-objects.ts';

const COUNTED: readonly KubeObject[] = [
  ruleObject('quota', 'requests', { dimensions: {} }),
  ruleObject('memquota', 'mem', { quotas: [{ name: 'requests', maxAmount: 5, validDuration: '1s' }] }),
  ruleObject('rule', 'count', { actions: [{ handler: 'mem.memquota', instances: ['requests.quota'] }] }),
];
const spec = (...rules: readonly unknown[]): KubeObject => ruleObject('QuotaSpec', 'cost', { rules });
const binding = (...services: readonly unknown[]): KubeObject =>
  ruleObject('QuotaSpecBinding', 'bind', { services, quotaSpecs: [{ name: 'cost' }] }, 'mesh-system');
const HTTPBIN = { name: 'httpbin', namespace: 'foo' };

function charges(objects: readonly KubeObject[], attributes: Readonly<Record<string, Value>> = {}) {
  const configuration = compileConfiguration([...COUNTED, ...objects]);
  expect(configuration.problems).to.deep.equal([]);
  const service = { 'destination.service.name': 'httpbin', 'destination.service.namespace': 'foo' };
  return configuration.charges.chargesFor(bagFrom(new Map(Object.entries({ ...service, ...attributes }))));
}

const problems = (...objects: readonly KubeObject[]): readonly string[] =>
  compileConfiguration([...COUNTED, ...objects]).problems.map(
    ({ object, path, message }) => `${object.kind} ${path}: ${message}`,
  );

describe('what requests cost', () => {
  it('is nothing for services that no binding names', () => {
    expect(charges([spec({ quotas: [{ quota: 'requests' }] }), binding({ name: 'other', namespace: 'foo' })])).to.deep.equal([]);
    expect(charges([spec({ quotas: [{ quota: 'requests' }] })])).to.deep.equal([]);
  });

  it('is what the specs of their service say, 1 unless they say more', () => {
    expect(charges([spec({ quotas: [{ quota: 'requests' }] }), binding(HTTPBIN)])).to.deep.equal([
      { quota: 'requests', amount: 1 },
    ]);
    const named = binding({ service: 'httpbin.foo.svc.cluster.local' });
    expect(charges([spec({ quotas: [{ quota: 'requests', charge: 3 }] }), named])).to.deep.equal([
      { quota: 'requests', amount: 3 },
    ]);
    expect(charges([spec({ quotas: [{ quota: 'requests' }] }), binding({ name: '*' })])).to.have.length(1);
  });

  it('adds up what several rules charge of one quota, and counts a spec once', () => {
    const costs = spec({ quotas: [{ quota: 'requests', charge: 2 }] }, { quotas: [{ quota: 'requests' }] });
    expect(charges([costs, binding(HTTPBIN, { name: '*' })])).to.deep.equal([{ quota: 'requests', amount: 3 }]);
  });

  it('depends on attributes: one match must hold, with all its clauses', () => {
    const match = [
      { clause: { 'request.method': { exact: 'POST' }, 'request.path': { prefix: '/api' } } },
      { clause: { 'request.headers["x-user"]': { regex: 'u[0-9]+' } } },
    ];
    const objects = [spec({ match, quotas: [{ quota: 'requests' }] }), binding(HTTPBIN)];
    const user = (name: string) => ({ 'request.headers': new Map([['x-user', name]]) });
    expect(charges(objects, { 'request.method': 'POST', 'request.path': '/api/1' })).to.have.length(1);
    expect(charges(objects, { 'request.method': 'POST', 'request.path': '/' })).to.deep.equal([]);
    expect(charges(objects, user('u7'))).to.have.length(1);
    expect(charges(objects, user('xu7'))).to.deep.equal([]);
  });

  it('is refused where it names quotas that nobody counts, and specs that are not there', () => {
    expect(problems(spec({ quotas: [{ quota: 'request' }] }), binding(HTTPBIN))).to.deep.equal([
      'QuotaSpec spec.rules[0].quotas[0].quota: no rule allocates a quota "request"; rules allocate requests.quota.mesh-system',
      'QuotaSpecBinding spec.quotaSpecs[0].name: there is no cost.QuotaSpec.mesh-system in force',
    ]);
  });

  it('is refused with every mistake', () => {
    const match = [{ clause: { 'request.methd': { exact: 'GET' }, 'request.path': { regex: '(' }, 'request.host': {} } }];
    const found = problems(spec({ match, quotas: [{ quota: 'requests', charge: 0 }], other: 1 }), spec());
    expect(found.map((problem) => problem.split(':')[0])).to.deep.equal([
      'QuotaSpec spec.rules[0].other',
      'QuotaSpec spec.rules[0].match[0].clause.request.methd',
      'QuotaSpec spec.rules[0].match[0].clause.request.path.regex',
      'QuotaSpec spec.rules[0].match[0].clause.request.host',
      'QuotaSpec spec.rules[0].quotas[0].charge',
      'QuotaSpec spec.rules',
    ]);
  });
});
