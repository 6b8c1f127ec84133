import { expect } from 'chai';
import { nextSnapshot } from '../../../src/model/snapshot.ts';
import { policyConflicts } from '../../../src/policy/conflicts.ts';
import { explain } from '../../../src/policy/explain.ts';
import { policyProblems } from '../../../src/policy/problems.ts';
import { resolveWorkload } from '../../../src/policy/workload-ports.ts';
import { makeInputs, makeOrigin, makePolicy, makePort, makeService, makeWorkload } from '../../fakes/model.ts';

const ports = [makePort({ number: 1234, name: 'tcp-echo', protocol: 'tcp' }), makePort()];
const httpbin = makeService({ name: 'httpbin', ports });
const namespaceWide = makePolicy({ mutualTls: 'STRICT' });
const younger = makePolicy({ name: 'second', creationTimestamp: '2026-02-01T00:00:00Z' });
const onService = makePolicy({ name: 'httpbin', targets: [{ name: 'httpbin', ports: [], labels: {} }], origins: [makeOrigin()] });
const snapshotOf = (...policies: readonly ReturnType<typeof makePolicy>[]) =>
  nextSnapshot(undefined, makeInputs({ services: [httpbin], policies }));

describe('explain', () => {
  it('says what is required, which object decided, and which were overruled and why', () => {
    const [explanation] = explain(snapshotOf(namespaceWide, younger, onService), httpbin, 8000);
    expect(explanation?.decidedBy).to.deep.equal({
      object: 'Policy foo/httpbin',
      level: 'service',
      reason: 'it targets this service, and no other policy is more specific',
    });
    expect(explanation?.overruled.map(({ object, kind }) => [object, kind])).to.deep.equal([
      ['Policy foo/default', 'less-specific'],
      ['Policy foo/second', 'less-specific'],
    ]);
    expect(explanation?.effects).to.deep.equal([
      'mutual TLS is not required: plaintext and mesh mutual TLS are both accepted',
      'requests need a valid token of https://issuer.example; others are answered 401',
    ]);
  });

  it('tells a conflict from a less specific policy', () => {
    const [explanation] = explain(snapshotOf(younger, namespaceWide), httpbin, 8000);
    expect(explanation?.overruled).to.deep.equal([
      {
        object: 'Policy foo/second',
        level: 'namespace',
        kind: 'conflict',
        reason: 'it covers namespace foo too, but Policy foo/default is older',
      },
    ]);
  });

  it('names the mesh configuration when no policy speaks', () => {
    const [explanation] = explain(snapshotOf(), httpbin, 8000);
    expect(explanation?.decidedBy).to.deep.equal({
      object: 'mesh configuration',
      level: 'mesh-config',
      reason: 'no policy speaks about this port, and authPolicy is NONE',
    });
  });

  it('warns of tokens on a port that carries no requests', () => {
    const [explanation] = explain(snapshotOf(onService), httpbin, 1234);
    expect(explanation?.warnings).to.deep.equal([
      'tokens cannot be checked on a port that speaks tcp, so connections are refused: name the port http-... or set appProtocol',
    ]);
  });

  it('adds what holds for the workloads with certain labels', () => {
    const targets = [{ name: 'httpbin', ports: [], labels: { version: 'v2' } }];
    const explanations = explain(snapshotOf(makePolicy({ name: 'v2', targets, mutualTls: 'STRICT' })), httpbin, 8000);
    expect(explanations.map(({ labels, mutualTls }) => [labels, mutualTls])).to.deep.equal([
      [undefined, 'OPTIONAL'],
      [{ version: 'v2' }, 'REQUIRED'],
    ]);
  });
});

describe('policyConflicts', () => {
  it('names the subject, who is in force and who is not', () => {
    expect(policyConflicts([younger, namespaceWide]).map(({ message }) => message)).to.deep.equal([
      'Policy foo/second has no effect on namespace foo: Policy foo/default is older and claims it too',
    ]);
  });

  it('knows a port by its name and its number', () => {
    const byName = makePolicy({ name: 'a', targets: [{ name: 'httpbin', ports: [{ name: 'http' }], labels: {} }] });
    const byNumber = makePolicy({ name: 'b', targets: [{ name: 'httpbin', ports: [{ number: 8000 }], labels: {} }] });
    expect(policyConflicts([byName, byNumber])).to.deep.equal([]);
    expect(policyConflicts([byName, byNumber], () => 8000).map(({ subject }) => subject)).to.deep.equal([
      'port 8000 of service httpbin.foo',
    ]);
  });

  it('sees none between levels, namespaces or services', () => {
    const elsewhere = makePolicy({ namespace: 'bar' });
    const mesh = makePolicy({ scope: 'mesh' });
    expect(policyConflicts([namespaceWide, onService, elsewhere, mesh])).to.deep.equal([]);
  });
});

describe('policyProblems', () => {
  it('reports targets that are not there and tokens that cannot be checked', () => {
    const stray = makePolicy({ name: 'stray', targets: [{ name: 'nothere', ports: [], labels: {} }] });
    const wrongPort = makePolicy({ name: 'port', targets: [{ name: 'httpbin', ports: [{ number: 99 }], labels: {} }] });
    const messages = policyProblems(snapshotOf(stray, wrongPort, onService)).map(
      ({ policy, message }) => `${policy.name}: ${message}`,
    );
    expect(messages).to.deep.equal(
      [
        'port: spec.targets[0]: service httpbin.foo has no port 99; it has 1234 (tcp-echo), 8000 (http)',
        'stray: spec.targets[0]: there is no service nothere in namespace foo',
        'httpbin: port 1234 of httpbin.foo: tokens cannot be checked on a port that speaks tcp, so connections are refused: ' +
          'name the port http-... or set appProtocol',
      ].sort((a, b) => Number(a.startsWith('httpbin')) - Number(b.startsWith('httpbin'))),
    );
  });
});

describe('resolveWorkload', () => {
  it('holds a port that several services share to the strictest of them', () => {
    const twin = makeService({ name: 'twin', selector: { app: 'httpbin' }, ports: [makePort({ number: 80, targetPort: 8000 })] });
    const workload = makeWorkload({ name: 'httpbin-1' });
    const strictTwin = makePolicy({ name: 'twin', mutualTls: 'STRICT', targets: [{ name: 'twin', ports: [], labels: {} }] });
    const inputs = makeInputs({ services: [httpbin, twin], workloads: [workload], policies: [strictTwin, onService] });
    const [echo, http] = resolveWorkload(nextSnapshot(undefined, inputs), workload).ports;
    expect([echo?.number, echo?.mutualTls]).to.deep.equal([1234, 'OPTIONAL']);
    expect([http?.number, http?.mutualTls, http?.origins.length]).to.deep.equal([8000, 'REQUIRED', 1]);
  });

  it('knows by which service ports raw TCP comes, and where services disagree', () => {
    const raw = (name: string, number: number) =>
      makeService({ name, selector: { app: 'httpbin' }, ports: [makePort({ number, protocol: 'mysql', targetPort: 8000 })] });
    const inputs = makeInputs({
      services: [httpbin, raw('b', 3306), raw('a', 3307)],
      workloads: [makeWorkload({ name: 'httpbin-1' })],
    });
    const [echo, mixed] = resolveWorkload(nextSnapshot(undefined, inputs), makeWorkload({ name: 'httpbin-1' })).ports;
    expect([echo?.spoken, echo?.raw.map(({ number }) => number)]).to.deep.equal(['raw', [1234]]);
    expect([mixed?.spoken, mixed?.raw.map(({ hostname, number }) => `${hostname}:${number}`)]).to.deep.equal([
      'both',
      ['a.foo.svc.cluster.local:3307', 'b.foo.svc.cluster.local:3306'],
    ]);
  });

  it('holds ports that no service names to the policy of the namespace', () => {
    const workload = makeWorkload({ name: 'httpbin-1' });
    const inputs = makeInputs({ services: [httpbin], workloads: [workload], policies: [namespaceWide, onService] });
    const authn = resolveWorkload(nextSnapshot(undefined, inputs), workload);
    expect(authn.unnamed).to.deep.equal({ mutualTls: 'REQUIRED', origins: [] });
  });
});
