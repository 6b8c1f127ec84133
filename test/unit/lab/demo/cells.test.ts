import { expect } from 'chai';
import { type ExpectedCell, expectedCells, judge } from '../../../../src/lab/demo/cells.ts';
import { answered, formatOutcomes, RESET } from '../../../../src/lab/demo/outcome.ts';
import { REFERENCE_STEPS } from '../../../../src/lab/demo/steps.ts';
import type { Token } from '../../../../src/lab/demo/tokens.ts';
import { hostOf } from '../../../../src/lab/demo/topology.ts';

/** What the scenario expects of a call: `expects('2', 'legacy -> httpbin.foo:8000')`. */
function expects(step: string, call: string, token: Token = 'none'): string {
  const found = REFERENCE_STEPS.filter(({ name }) => name === step)
    .flatMap(expectedCells)
    .filter((cell) => cell.token === token && `${cell.client} -> ${hostOf(cell.target)}:${cell.target.port}` === call);
  return found.map(({ expected }) => formatOutcomes(expected)).join(' and ');
}

describe('expectations of the reference scenario', () => {
  it('cover every pair of namespaces, both ports of httpbin and the other service in every step', () => {
    for (const step of REFERENCE_STEPS) {
      const calls = new Set(expectedCells(step).map(({ client, target }) => `${client} ${hostOf(target)} ${target.port}`));
      expect(calls.size, step.name).to.equal(27);
    }
  });

  it('refuse only legacy, and only in the namespace of the policy', () => {
    expect(expects('2', 'legacy -> httpbin.foo:8000')).to.equal('000/56');
    expect(expects('2', 'legacy -> other.foo:8000')).to.equal('000/56');
    expect(expects('2', 'bar -> httpbin.foo:8000')).to.equal('200');
    expect(expects('2', 'legacy -> httpbin.bar:8000')).to.equal('200');
    expect(expects('2', 'foo -> httpbin.legacy:1234')).to.equal('200');
  });

  it('refuse at one service, then at one port', () => {
    expect(expects('3', 'legacy -> httpbin.bar:8000')).to.equal('000/56');
    expect(expects('3', 'legacy -> other.bar:8000')).to.equal('200');
    expect(expects('4', 'legacy -> httpbin.bar:8000')).to.equal('200');
    expect(expects('4', 'legacy -> httpbin.bar:1234')).to.equal('000/56');
  });

  it('let a service policy outrank its namespace', () => {
    expect(expects('5', 'legacy -> httpbin.foo:8000')).to.equal('200');
    expect(expects('5', 'legacy -> other.foo:8000')).to.equal('000/56');
  });

  it('take a valid token alone', () => {
    expect(expects('6', 'legacy -> httpbin.foo:8000')).to.equal('401');
    expect(expects('6', 'legacy -> httpbin.foo:1234', 'valid')).to.equal('200');
    for (const token of ['expired', 'issuer', 'signature', 'key', 'alg-none', 'garbage'] as const) {
      expect(expects('6', 'bar -> httpbin.foo:8000', token), token).to.equal('401');
    }
    expect(expects('6', 'bar -> httpbin.foo:8000', 'audience')).to.equal('401|403');
  });

  it('require mutual TLS and a token together, then the token alone', () => {
    expect(expects('7', 'legacy -> httpbin.foo:8000', 'valid')).to.equal('000/56');
    expect(expects('7', 'foo -> httpbin.foo:8000', 'valid')).to.equal('200');
    expect(expects('7', 'foo -> httpbin.foo:8000')).to.equal('401');
    expect(expects('7b', 'legacy -> httpbin.foo:8000', 'valid')).to.equal('200');
    expect(expects('7b', 'legacy -> httpbin.foo:8000')).to.equal('401');
  });

  it('close the mesh by its configuration and open it again', () => {
    expect(expects('8', 'legacy -> other.bar:8000')).to.equal('000/56');
    expect(expects('8', 'bar -> httpbin.foo:8000')).to.equal('200');
    expect(expects('9', 'legacy -> httpbin.foo:8000')).to.equal('200');
  });
});

describe('judging a call', () => {
  const cell = (client: ExpectedCell['client'], expected = answered(200)): ExpectedCell => ({
    client,
    target: { namespace: 'bar', service: 'httpbin', port: 8000 },
    token: 'none',
    expected: [expected],
  });
  const mutual = 'By=spiffe://cluster.local/ns/bar/sa/httpbin;Hash=01;URI=spiffe://cluster.local/ns/foo/sa/sleep';

  it('finds an outcome that differs in the status or in the exit code alone', () => {
    const call = { peerCertificate: undefined };
    expect(judge(cell('legacy', RESET), { ...call, outcome: answered(200) }).problems).to.include('not the expected outcome');
    expect(judge(cell('legacy', RESET), { ...call, outcome: { status: 0, exit: 28 } }).problems).to.include(
      'not the expected outcome',
    );
    expect(judge(cell('legacy', RESET), { ...call, outcome: { status: 0, exit: 56 } }).problems).to.deep.equal([]);
  });

  it('wants the identity of the client at the server between sidecars', () => {
    expect(judge(cell('foo'), { outcome: answered(200), peerCertificate: mutual }).problems).to.deep.equal([]);
    expect(judge(cell('foo'), { outcome: answered(200), peerCertificate: undefined }).problems).to.have.length(1);
    expect(judge(cell('bar'), { outcome: answered(200), peerCertificate: mutual }).problems).to.have.length(1);
  });

  it('wants no identity of a client without a sidecar', () => {
    expect(judge(cell('legacy'), { outcome: answered(200), peerCertificate: undefined }).problems).to.deep.equal([]);
    expect(judge(cell('legacy'), { outcome: answered(200), peerCertificate: mutual }).problems).to.have.length(1);
    expect(judge(cell('legacy'), { outcome: answered(200), peerCertificate: 'Hash=01' }).problems).to.have.length(1);
  });
});
