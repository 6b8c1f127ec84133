import { expect } from 'chai';
import { answerReview, readReview, type Verdict } from '../../../src/io/admission/review.ts';
import { namesFor } from '../../../src/lib/names.ts';
import type { AuthnPolicy } from '../../../src/model/authn-policy.ts';
import { parseMeshPolicy } from '../../../src/model/parse/mesh-policy.ts';
import { parsePolicy } from '../../../src/model/parse/policy.ts';
import { nextSnapshot } from '../../../src/model/snapshot.ts';
import { createPolicyReview } from '../../../src/pilot-discovery/policy-review.ts';
import { makeInputs, makeService } from '../../fakes/model.ts';

const names = namesFor('mesh.io');
const STRICT = { peers: [{ mtls: {} }] };
const ON_HTTPBIN = { targets: [{ name: 'httpbin' }] };

const policy = (name: string, spec: unknown = STRICT, metadata: object = {}) => ({
  apiVersion: 'authentication.mesh.io/v1alpha1',
  kind: 'Policy',
  metadata: { name, namespace: 'foo', creationTimestamp: '2026-01-02T00:00:00Z', ...metadata },
  spec,
});
const meshPolicy = (name: string, spec: unknown = STRICT) => ({
  apiVersion: 'authentication.mesh.io/v1alpha1',
  kind: 'MeshPolicy',
  metadata: { name },
  spec,
});
const parsed = (object: ReturnType<typeof policy>): AuthnPolicy => {
  const result = object.kind === 'Policy' ? parsePolicy(object, names) : parseMeshPolicy(object, names);
  if (!result.ok) throw new Error('the policy is wrong');
  return result.value;
};

describe('the review of a policy', () => {
  const review = (
    stored: readonly ReturnType<typeof policy>[],
    object: { readonly kind: string },
    { oldObject, version = 'v1' }: { readonly oldObject?: object; readonly version?: string } = {},
  ): Verdict & { readonly answer: unknown } => {
    const snapshot = nextSnapshot(undefined, makeInputs({ services: [makeService({ name: 'httpbin' })] }));
    const decide = createPolicyReview({ names, stored: () => stored.map(parsed), snapshot: () => snapshot });
    const request = {
      uid: 'u',
      kind: { group: 'authentication.mesh.io', version: 'v1alpha1', kind: object.kind },
      operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
      namespace: 'foo',
      object,
      ...(oldObject === undefined ? {} : { oldObject }),
    };
    const read = readReview(JSON.stringify({ apiVersion: `admission.k8s.io/${version}`, kind: 'AdmissionReview', request }));
    if (!read.ok) throw new Error('the review cannot be read');
    const verdict = decide(read.value);
    return { ...verdict, answer: answerReview(read.value, verdict) };
  };

  it('takes a good one, in both versions of the API', () => {
    for (const version of ['v1', 'v1beta1']) {
      expect(review([], policy('default'), { version }).answer).to.deep.equal({
        apiVersion: `admission.k8s.io/${version}`,
        kind: 'AdmissionReview',
        response: { uid: 'u', allowed: true },
      });
    }
  });

  it('refuses what no schema can say, in the words of the files', () => {
    const twice = { jwt: { issuer: 'https://a.example', jwksUri: 'https://a.example/keys' } };
    const refusals: readonly (readonly [{ readonly kind: string }, string])[] = [
      [meshPolicy('other'), 'metadata.name: the policy of the mesh must be named "default"'],
      [
        policy('x', { targets: [{ name: 'a' }, { name: 'a' }] }),
        'spec.targets[1]: says the same as spec.targets[0]; list a target once',
      ],
      [
        policy('x', { origins: [twice, twice] }),
        'spec.origins[1].jwt.issuer: "https://a.example" is already at spec.origins[0].jwt.issuer; list an issuer once',
      ],
      [policy('x', { peers: [{}] }), 'spec.peers[0]: names no method; write `mtls: {}`'],
      [policy('x', { targets: [{ name: 'a', ports: [{}] }] }), 'spec.targets[0].ports[0]: give number or name'],
    ];
    for (const [object, message] of refusals) {
      expect(review([], object)).to.deep.include({ type: 'denied', message, code: 400 });
    }
  });

  it('tells everything that is wrong at once', () => {
    const { message } = review([], policy('x', { peers: [{}], targets: [{ name: 'a', ports: [{}] }] })) as { message?: string };
    expect(message).to.include('spec.peers[0]').and.include('spec.targets[0]');
  });

  it('refuses one that says something about what another one does, however young it claims to be', () => {
    const stored = policy('older', ON_HTTPBIN, { creationTimestamp: '2026-03-01T00:00:00Z' });
    expect(review([stored], policy('a-younger', { ...ON_HTTPBIN, ...STRICT }))).to.deep.include({
      type: 'denied',
      message: 'Policy foo/a-younger has no effect on service httpbin.foo: Policy foo/older is older and claims it too',
    });
    expect(review([stored], policy('namespace-wide'))).to.deep.include({ type: 'unchanged' });
    const ofBar = policy('other', ON_HTTPBIN, { namespace: 'bar' });
    expect(review([stored], ofBar)).to.deep.include({ type: 'unchanged' });
  });

  it('knows a port by its name and its number', () => {
    const stored = policy('older', { targets: [{ name: 'httpbin', ports: [{ number: 8000 }] }] });
    const named = policy('younger', { targets: [{ name: 'httpbin', ports: [{ name: 'http' }] }] });
    expect(review([stored], named)).to.deep.include({ type: 'denied' });
  });

  it('does not take a policy for one that it conflicts with', () => {
    const before = policy('default');
    expect(review([before], policy('default', {}), { oldObject: before })).to.deep.include({ type: 'unchanged' });
  });

  it('lets a conflict be that was there before, but no further one come', () => {
    const older = policy('older', { targets: [{ name: 'a' }, { name: 'b' }] }, { creationTimestamp: '2026-01-01T00:00:00Z' });
    const before = policy('younger', { targets: [{ name: 'a' }] });
    const stored = [older, before];
    expect(review(stored, policy('younger', { targets: [{ name: 'a' }], ...STRICT }), { oldObject: before })).to.deep.include({
      type: 'unchanged',
    });
    const further = policy('younger', { targets: [{ name: 'a' }, { name: 'b' }] });
    expect(review(stored, further, { oldObject: before })).to.deep.include({
      type: 'denied',
      message: 'Policy foo/younger has no effect on service b.foo: Policy foo/older is older and claims it too',
    });
  });

  it('lets labels and finalizers of a bad one be changed, and a bad one be mended', () => {
    const bad = policy('x', { peers: [{}] });
    const labelled = policy('x', { peers: [{}] }, { labels: { a: 'b' } });
    expect(review([], labelled, { oldObject: bad })).to.deep.include({ type: 'unchanged' });
    expect(review([], policy('x'), { oldObject: bad })).to.deep.include({ type: 'unchanged' });
  });

  it('warns of what will not work as its author may think', () => {
    const { answer } = review([], policy('x', { targets: [{ name: 'nowhere' }] }));
    expect(answer)
      .to.have.nested.property('response.warnings')
      .deep.equal(['spec.targets[0]: there is no service nowhere in namespace foo']);
  });

  it('has nothing to say about other kinds', () => {
    expect(review([], { kind: 'Pod' })).to.deep.include({ type: 'unchanged' });
  });
});
