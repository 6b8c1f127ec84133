import { expect } from 'chai';
import { answered, RESET } from '../../../../src/lab/demo/outcome.ts';
import { PLAIN } from '../../../../src/lab/demo/paint.ts';
import { reportOf } from '../../../../src/lab/demo/rows.ts';
import { renderStep, renderSummary } from '../../../../src/lab/demo/step-text.ts';
import { NO_POLICY, REFERENCE_STEPS, type Step } from '../../../../src/lab/demo/steps.ts';
import { type ScenarioResult, walk } from '../../../../src/lab/demo/walk.ts';
import { FakeMesh } from '../../../fakes/mesh-under-test.ts';

const QUIET = { started: () => {}, doing: () => {}, finished: () => {} };

const ONLY_HTTPBIN_FOO: Step = {
  ...NO_POLICY,
  rules: [
    { from: ['legacy'], namespace: 'foo', service: 'other', outcomes: [RESET] },
    { from: ['legacy'], namespace: 'bar', outcomes: [RESET] },
  ],
};

async function walkOne(mesh: FakeMesh, step = ONLY_HTTPBIN_FOO): Promise<ScenarioResult> {
  return walk([step], mesh, QUIET);
}

function rendered(result: ScenarioResult): string {
  return result.steps.map((step) => renderStep(step, PLAIN)).join('\n');
}

describe('walking through the scenario', () => {
  it('makes every change in order and passes when all is as specified', async () => {
    const mesh = new FakeMesh();
    const told: string[] = [];
    const listener = {
      started: ({ name }: Step) => void told.push(`start ${name}`),
      doing: () => {},
      finished: ({ step }: { step: Step }) => void told.push(`end ${step.name}`),
    };
    const result = await walk(
      [ONLY_HTTPBIN_FOO, { ...ONLY_HTTPBIN_FOO, name: '2', changes: [{ type: 'apply', file: 'a.yaml' }] }],
      mesh,
      listener,
    );
    expect(rendered(result)).not.to.include('WRONG');
    expect(result.ok).to.equal(true);
    expect(mesh.changes).to.deep.equal([[], [{ type: 'apply', file: 'a.yaml' }]]);
    expect(told).to.deep.equal(['start 1', 'end 1', 'start 2', 'end 2']);
  });

  it('fails for one cell with a wrong expectation, shows the cell and still walks on', async () => {
    const mesh = new FakeMesh();
    mesh.answer = ({ client, target }) =>
      client === 'legacy' && target.namespace === 'legacy' && target.port === 1234 ? { outcome: answered(200) } : {};
    const wrong: Step = {
      ...ONLY_HTTPBIN_FOO,
      rules: [...ONLY_HTTPBIN_FOO.rules, { from: ['legacy'], namespace: 'legacy', port: 1234, outcomes: [RESET] }],
    };
    const result = await walk([wrong, ONLY_HTTPBIN_FOO], mesh, QUIET);
    expect(result.steps.map(({ ok }) => ok)).to.deep.equal([false, true]);
    expect(result.ok).to.equal(false);
    expect(rendered(result)).to.include('WRONG  legacy -> httpbin.legacy:1234, no token: expected 000/56, got 200');
    expect(renderSummary(result, PLAIN)).to.include('FAILED  2 steps, 54 calls checked, 1 not as specified');
    expect(reportOf(result).rows.filter(({ ok }) => !ok)).to.have.length(1);
  });

  it('fails when a background call failed, or none was made', async () => {
    const failing = new FakeMesh();
    failing.call = async (calls) => {
      failing.totals = { calls: 10, failed: 1 };
      return FakeMesh.prototype.call.call(failing, calls);
    };
    const failed = await walkOne(failing);
    expect(failed.ok).to.equal(false);
    expect(failed.steps[0]?.ok).to.equal(false);

    const idle = new FakeMesh();
    idle.background = () => ({ totals: { calls: 0, failed: 0 }, failures: [] });
    expect((await walkOne(idle)).ok).to.equal(false);
  });

  it('fails when a connection between sidecars was not encrypted, though every call was answered', async () => {
    const mesh = new FakeMesh();
    mesh.unencrypted = 1;
    const result = await walkOne(mesh);
    expect(result.steps[0]?.cells.every(({ problems }) => problems.length === 0)).to.equal(true);
    expect(result.ok).to.equal(false);
    expect(rendered(result)).to.include('of 3 connections of sleep.foo to httpbin.foo:8000 only 2 had a TLS handshake');
  });

  it('fails when a sidecar took a plaintext connection that is none of the calls', async () => {
    const mesh = new FakeMesh();
    mesh.intruders = 1;
    const result = await walkOne(mesh);
    expect(result.ok).to.equal(false);
    expect(rendered(result)).to.include('httpbin.foo took 3 plaintext connections instead of 2');
  });

  it('waits for the handshake of a connection in the making', async () => {
    const mesh = new FakeMesh();
    mesh.handshakesLate = 12;
    expect((await walkOne(mesh)).ok).to.equal(true);
  });
});

describe('the table', () => {
  it('has one line for what came to the same, and one for each that did not', async () => {
    const result = await walkOne(new FakeMesh());
    const lines = rendered(result)
      .split('\n')
      .map((line) => line.trim().replace(/ +/g, ' '));
    expect(lines).to.include('to expected got expected got expected got');
    expect(lines).to.include('httpbin.foo 8000 1234 200 200 200 200 200 200');
    expect(lines).to.include('other.foo 8000 200 200 200 200 000/56 000/56');
  });

  it('groups the tokens that came to the same', async () => {
    const step = REFERENCE_STEPS.find(({ name }) => name === '6') ?? NO_POLICY;
    const lines = rendered(await walkOne(new FakeMesh(), step))
      .split('\n')
      .map((line) => line.trim().replace(/ +/g, ' '));
    const at = lines.indexOf('httpbin.foo 8000 1234 no token, expired, wrong issuer, 401 401 401 401 401 401');
    expect(lines.slice(at, at + 5)).to.deep.equal([
      'httpbin.foo 8000 1234 no token, expired, wrong issuer, 401 401 401 401 401 401',
      'bad signature, unknown key,',
      'alg none, garbage',
      'httpbin.foo 8000 1234 valid token 200 200 200 200 200 200',
      'httpbin.foo 8000 1234 wrong audience 401|403 403 401|403 403 401|403 403',
    ]);
  });

  it('is plain without colours', async () => {
    expect(rendered(await walkOne(new FakeMesh()))).not.to.include('\u001b');
  });
});

describe('rows for programs', () => {
  it('tell each call with what was expected, what it came to and whom the server saw', async () => {
    const { ok, rows } = reportOf(await walkOne(new FakeMesh()));
    expect(ok).to.equal(true);
    expect(rows).to.have.length(27);
    const { client, server, service, port, token, expected, got, peer } = rows[0] ?? {};
    expect({ client, server, service, port, token, expected, got, peer }).to.deep.equal({
      client: 'foo',
      server: 'foo',
      service: 'httpbin',
      port: 8000,
      token: 'none',
      expected: [{ status: 200, exit: 0 }],
      got: { status: 200, exit: 0 },
      peer: 'spiffe://cluster.local/ns/foo/sa/sleep',
    });
  });
});
