import { expect } from 'chai';
import fc from 'fast-check';
import type { AuthnPolicy, PolicyTarget } from '../../../src/model/authn-policy.ts';
import { DEFAULT_MESH_CONFIG } from '../../../src/model/mesh-config.ts';
import { indexPolicies } from '../../../src/model/policy-index.ts';
import { describeDecider } from '../../../src/policy/describe.ts';
import { resolveAuthn } from '../../../src/policy/resolve.ts';
import { makeOrigin, makePolicy, makePort, makeService } from '../../fakes/model.ts';

const httpbin = makeService({ name: 'httpbin' });
const other = makeService({ name: 'other' });
const abroad = makeService({ name: 'httpbin', namespace: 'bar' });
const http = makePort({ number: 8000, name: 'http' });
const echo = makePort({ number: 1234, name: 'tcp-echo', protocol: 'tcp' });

const target = (name: string, more: Partial<PolicyTarget> = {}): PolicyTarget => ({ name, ports: [], labels: {}, ...more });
const strict = (policy: Partial<AuthnPolicy> = {}) => makePolicy({ mutualTls: 'STRICT', ...policy });

const contextOf = (policies: readonly AuthnPolicy[], authPolicy: 'NONE' | 'MUTUAL_TLS' = 'NONE') => ({
  mesh: { ...DEFAULT_MESH_CONFIG, authPolicy },
  policies: indexPolicies(policies, undefined),
});

describe('resolveAuthn', () => {
  const decide = (policies: readonly AuthnPolicy[], service = httpbin, port = http) =>
    resolveAuthn(contextOf(policies), service, port, undefined).mutualTls;

  it('requires nothing without a policy', () => {
    expect(decide([])).to.equal('OPTIONAL');
  });

  it('has a namespace policy cover every service of its namespace and none of others', () => {
    const policies = [strict()];
    expect([decide(policies), decide(policies, other), decide(policies, abroad)]).to.deep.equal([
      'REQUIRED',
      'REQUIRED',
      'OPTIONAL',
    ]);
  });

  it('has a service policy cover its service only', () => {
    const policies = [strict({ targets: [target('httpbin')] })];
    expect([decide(policies), decide(policies, other)]).to.deep.equal(['REQUIRED', 'OPTIONAL']);
  });

  it('has a port policy cover its ports only, by number or by name', () => {
    for (const port of [{ number: 1234 }, { name: 'tcp-echo' }]) {
      const policies = [strict({ targets: [target('httpbin', { ports: [port] })] })];
      expect([decide(policies, httpbin, echo), decide(policies, httpbin, http)]).to.deep.equal(['REQUIRED', 'OPTIONAL']);
    }
  });

  it('lets a service policy without peers lift what its namespace requires', () => {
    const policies = [strict(), makePolicy({ name: 'httpbin', targets: [target('httpbin')] })];
    expect([decide(policies), decide(policies, other)]).to.deep.equal(['OPTIONAL', 'REQUIRED']);
  });

  it('takes the most specific policy whole: origins of a wider one are not added', () => {
    const wide = makePolicy({ origins: [makeOrigin()] });
    const narrow = strict({ name: 'httpbin', targets: [target('httpbin')] });
    const decision = resolveAuthn(contextOf([wide, narrow]), httpbin, http, undefined);
    expect(decision.origins).to.deep.equal({ type: 'none' });
    expect(decision.mutualTls).to.equal('REQUIRED');
    expect(decision.overruled.map(({ policy }) => policy)).to.deep.equal([wide]);
  });

  it('falls back to the mesh policy, then to the mesh configuration', () => {
    const mesh = makePolicy({ scope: 'mesh', mutualTls: 'PERMISSIVE' });
    expect(resolveAuthn(contextOf([mesh], 'MUTUAL_TLS'), httpbin, http, undefined).mutualTls).to.equal('OPTIONAL');
    expect(resolveAuthn(contextOf([], 'MUTUAL_TLS'), httpbin, http, undefined).mutualTls).to.equal('REQUIRED');
  });

  it('keeps the older of two policies for the same in force', () => {
    const older = strict({ name: 'z', creationTimestamp: '2026-01-01T00:00:00Z' });
    const younger = makePolicy({ name: 'a', creationTimestamp: '2026-01-01T00:00:01Z' });
    expect(describeDecider(resolveAuthn(contextOf([younger, older]), httpbin, http, undefined))).to.equal('Policy foo/z');
  });

  const modes: [string, Partial<AuthnPolicy>, 'REQUIRED' | 'OPTIONAL'][] = [
    ['no mtls peer', {}, 'OPTIONAL'],
    ['STRICT', { mutualTls: 'STRICT' }, 'REQUIRED'],
    ['PERMISSIVE', { mutualTls: 'PERMISSIVE' }, 'OPTIONAL'],
    ['STRICT but optional', { mutualTls: 'STRICT', peerIsOptional: true }, 'OPTIONAL'],
  ];
  for (const [name, fields, expected] of modes) {
    it(`reads ${name} as ${expected}`, () => expect(decide([makePolicy(fields)])).to.equal(expected));
  }

  it('refuses everything when the principal is to come from an origin that is not there', () => {
    const decision = resolveAuthn(contextOf([strict({ principalBinding: 'USE_ORIGIN' })]), httpbin, http, undefined);
    expect(decision.origins).to.deep.equal({ type: 'refused' });
  });

  it('applies a target with labels to workloads that have them, before one without', () => {
    const all = makePolicy({ name: 'all', creationTimestamp: '2025-01-01T00:00:00Z', targets: [target('httpbin')] });
    const some = strict({ name: 'some', targets: [target('httpbin', { labels: { version: 'v2' } })] });
    const context = contextOf([all, some]);
    const byLabels = [{ version: 'v1' }, { version: 'v2' }, undefined].map(
      (labels) => resolveAuthn(context, httpbin, http, labels).mutualTls,
    );
    expect(byLabels).to.deep.equal(['OPTIONAL', 'REQUIRED', 'OPTIONAL']);
  });
});

/** Slow and obvious: asks level by level, in the words of the specification. */
function referenceDecider(
  policies: readonly AuthnPolicy[],
  service: string,
  port: number,
  labels: Record<string, string>,
): string {
  const oldestFirst = [...policies].sort(
    (a, b) => Date.parse(a.creationTimestamp) - Date.parse(b.creationTimestamp) || (a.name < b.name ? -1 : 1),
  );
  const hasLabels = (candidate: PolicyTarget) => Object.keys(candidate.labels).length > 0;
  const fits = (candidate: PolicyTarget) =>
    candidate.name === service && Object.entries(candidate.labels).every(([key, value]) => labels[key] === value);
  const onPort = (candidate: PolicyTarget) =>
    candidate.ports.some((selector) => 'number' in selector && selector.number === port);
  const levels: ((policy: AuthnPolicy) => boolean)[] = [
    (policy) => policy.targets.some((candidate) => fits(candidate) && onPort(candidate) && hasLabels(candidate)),
    (policy) => policy.targets.some((candidate) => fits(candidate) && onPort(candidate)),
    (policy) => policy.targets.some((candidate) => fits(candidate) && candidate.ports.length === 0 && hasLabels(candidate)),
    (policy) => policy.targets.some((candidate) => fits(candidate) && candidate.ports.length === 0),
    (policy) => policy.scope === 'namespace' && policy.targets.length === 0,
    (policy) => policy.scope === 'mesh',
  ];
  for (const level of levels) {
    const decider = oldestFirst.find((policy) => (policy.scope === 'mesh' || policy.namespace === 'foo') && level(policy));
    if (decider !== undefined) return decider.name;
  }
  return 'mesh configuration';
}

describe('resolveAuthn against the reference', () => {
  const arbitraryTarget = fc.record({
    name: fc.constantFrom('httpbin', 'other'),
    ports: fc.array(fc.record({ number: fc.constantFrom(8000, 1234) }), { maxLength: 2 }),
    labels: fc.constantFrom<Record<string, string>>({}, {}, { version: 'v1' }, { version: 'v2' }),
  });
  const arbitraryPolicy = fc.record({
    scope: fc.constantFrom<AuthnPolicy['scope']>('namespace', 'namespace', 'namespace', 'mesh'),
    namespace: fc.constantFrom('foo', 'bar'),
    age: fc.integer({ min: 0, max: 3 }),
    targets: fc.array(arbitraryTarget, { maxLength: 3 }),
  });

  it('names the same deciding policy', () => {
    fc.assert(
      fc.property(fc.array(arbitraryPolicy, { maxLength: 8 }), fc.constantFrom('v1', 'v2', 'v3'), (drafts, version) => {
        const policies = drafts.map(({ scope, namespace, age, targets }, index) =>
          makePolicy({
            scope,
            name: `p${index}`,
            namespace: scope === 'mesh' ? '' : namespace,
            creationTimestamp: `2026-01-0${age + 1}T00:00:00Z`,
            targets: scope === 'mesh' ? [] : targets,
          }),
        );
        for (const port of [http, echo]) {
          const { decidedBy } = resolveAuthn(contextOf(policies), httpbin, port, { version });
          const actual = decidedBy.type === 'policy' ? decidedBy.policy.name : 'mesh configuration';
          expect(actual).to.equal(referenceDecider(policies, 'httpbin', port.number, { version }));
        }
      }),
      { numRuns: 500 },
    );
  });
});
