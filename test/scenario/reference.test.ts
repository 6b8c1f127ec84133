import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { Host } from '../../src/io/host.ts';
import { Lab } from '../../src/lab/client.ts';
import { runScenario } from '../../src/lab/demo/main.ts';
import { PLAIN } from '../../src/lab/demo/paint.ts';
import type { Report, Row } from '../../src/lab/demo/rows.ts';
import { renderStep } from '../../src/lab/demo/step-text.ts';
import { NO_POLICY } from '../../src/lab/demo/steps.ts';
import { DEFAULT_DOMAIN, namesFor } from '../../src/lib/names.ts';

const MESH = fileURLToPath(new URL('../../bin/mesh', import.meta.url));
const MESH_DEMO_MS = 180_000;

const HOST: Host = {
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  cwd: process.cwd(),
  signal: new AbortController().signal,
  names: namesFor(DEFAULT_DOMAIN),
  now: () => new Date(),
};

/** A demo in a lab of its own, run as a user runs it, and what it reported. */
class Demo {
  readonly #dir: string;
  readonly report: Report;
  readonly progress: string;

  private constructor(dir: string, report: Report, progress: string) {
    this.#dir = dir;
    this.report = report;
    this.progress = progress;
  }

  static async run(): Promise<Demo> {
    const dir = await mkdtemp(join(tmpdir(), 'mesh-reference-'));
    const args = ['lab', 'demo', '--dir', dir, '--keep', '--output', 'json'];
    // A failed scenario has a report too, which the tests then show row by row.
    const { stdout, stderr } = await promisify(execFile)(MESH, args, { maxBuffer: 1 << 26 }).catch(
      (error: { stdout: string; stderr: string }) => error,
    );
    if (!stdout.startsWith('{')) {
      await new Lab(dir, HOST).down(true);
      throw new Error(`the demo gave no report:\n${stderr}`);
    }
    return new Demo(dir, JSON.parse(stdout), stderr);
  }

  lab(): Lab {
    return new Lab(this.#dir, HOST);
  }

  /** What calls came to: `000/56` or a status, once if all came to the same. */
  outcomes(step: string, where: Partial<Row>): readonly string[] {
    const rows = this.report.rows.filter(
      (row) => row.step === step && Object.entries(where).every(([field, value]) => row[field as keyof Row] === value),
    );
    return [
      ...new Set(rows.map(({ got }) => (got.exit === 0 ? `${got.status}` : `${`${got.status}`.padStart(3, '0')}/${got.exit}`))),
    ].sort();
  }

  wrong(step: string): readonly Row[] {
    return this.report.rows.filter((row) => row.step === step && !row.ok);
  }
}

const RESET = ['000/56'];
const OK = ['200'];
const UNAUTHORIZED = ['401'];

describe('the reference scenario on real proxies', function () {
  this.timeout(MESH_DEMO_MS);
  let demo: Demo;

  before(async () => {
    demo = await Demo.run();
  });

  after(async () => {
    await demo?.lab().down(true);
  });

  it('probes all pairs of namespaces, both ports of httpbin and the other service in every step', () => {
    for (const step of ['1', '2', '3', '4', '5', '6', '7', '7b', '8', '9']) {
      const rows = demo.report.rows.filter((row) => row.step === step && row.token === 'none');
      expect(rows.map(({ client, server, service, port }) => `${client} ${service}.${server} ${port}`).length, step).to.equal(27);
    }
  });

  it('step 1: without a policy everybody reaches everybody', () => {
    expect(demo.outcomes('1', {})).to.deep.equal(OK);
    expect(demo.wrong('1')).to.deep.equal([]);
  });

  it('step 2: a namespace policy refuses plaintext in foo, and nowhere else', () => {
    expect(demo.outcomes('2', { client: 'legacy', server: 'foo' })).to.deep.equal(RESET);
    expect(demo.outcomes('2', { client: 'legacy', server: 'bar' })).to.deep.equal(OK);
    expect(demo.outcomes('2', { client: 'bar' })).to.deep.equal(OK);
    expect(demo.outcomes('2', { client: 'foo', server: 'legacy' })).to.deep.equal(OK);
    expect(demo.wrong('2')).to.deep.equal([]);
  });

  it('step 3: a service policy refuses plaintext at its service alone', () => {
    expect(demo.outcomes('3', { client: 'legacy', server: 'bar', service: 'httpbin' })).to.deep.equal(RESET);
    expect(demo.outcomes('3', { client: 'legacy', server: 'bar', service: 'other' })).to.deep.equal(OK);
    expect(demo.wrong('3')).to.deep.equal([]);
  });

  it('step 4: a port policy refuses plaintext at its port alone', () => {
    expect(demo.outcomes('4', { client: 'legacy', server: 'bar', service: 'httpbin', port: 1234 })).to.deep.equal(RESET);
    expect(demo.outcomes('4', { client: 'legacy', server: 'bar', service: 'httpbin', port: 8000 })).to.deep.equal(OK);
    expect(demo.wrong('4')).to.deep.equal([]);
  });

  it('step 5: a service policy without peers outranks its namespace', () => {
    expect(demo.outcomes('5', { client: 'legacy', server: 'foo', service: 'httpbin' })).to.deep.equal(OK);
    expect(demo.outcomes('5', { client: 'legacy', server: 'foo', service: 'other' })).to.deep.equal(RESET);
    expect(demo.wrong('5')).to.deep.equal([]);
  });

  it('step 6: a token is required, and only a valid one will do', () => {
    const httpbin = { server: 'foo', service: 'httpbin' };
    expect(demo.outcomes('6', { ...httpbin, token: 'valid' })).to.deep.equal(OK);
    for (const token of ['none', 'expired', 'issuer', 'signature', 'key', 'alg-none', 'garbage']) {
      expect(demo.outcomes('6', { ...httpbin, token }), token).to.deep.equal(UNAUTHORIZED);
    }
    expect(['401', '403']).to.include.members([...demo.outcomes('6', { ...httpbin, token: 'audience' })]);
    expect(demo.wrong('6')).to.deep.equal([]);
  });

  it('step 7: mutual TLS and a token are required together, then the token alone', () => {
    const httpbin = { server: 'foo', service: 'httpbin' };
    expect(demo.outcomes('7', { ...httpbin, client: 'foo', token: 'valid' })).to.deep.equal(OK);
    expect(demo.outcomes('7', { ...httpbin, client: 'foo', token: 'none' })).to.deep.equal(UNAUTHORIZED);
    expect(demo.outcomes('7', { ...httpbin, client: 'legacy', token: 'valid' })).to.deep.equal(RESET);
    expect(demo.outcomes('7b', { ...httpbin, client: 'legacy', token: 'valid' })).to.deep.equal(OK);
    expect(demo.outcomes('7b', { ...httpbin, client: 'legacy', token: 'none' })).to.deep.equal(UNAUTHORIZED);
    expect([...demo.wrong('7'), ...demo.wrong('7b')]).to.deep.equal([]);
  });

  it('step 8: the mesh configuration refuses plaintext everywhere, and sidecars reach each other', () => {
    for (const server of ['foo', 'bar']) {
      expect(demo.outcomes('8', { client: 'legacy', server })).to.deep.equal(RESET);
      expect(demo.outcomes('8', { client: 'foo', server })).to.deep.equal(OK);
      expect(demo.outcomes('8', { client: 'bar', server })).to.deep.equal(OK);
    }
    expect(demo.wrong('8')).to.deep.equal([]);
  });

  it('step 9: once the policies are gone everybody reaches everybody again', () => {
    expect(demo.outcomes('9', {})).to.deep.equal(OK);
    expect(demo.wrong('9')).to.deep.equal([]);
  });

  it('shows every server the identity of the calling sidecar, required or not', () => {
    const answered = demo.report.rows.filter(({ server, got }) => server !== 'legacy' && got.status === 200);
    expect(new Set(answered.filter(({ client }) => client === 'foo').map(({ peer }) => peer))).to.deep.equal(
      new Set(['spiffe://cluster.local/ns/foo/sa/sleep']),
    );
    expect(new Set(answered.filter(({ client }) => client === 'legacy').map(({ peer }) => peer))).to.deep.equal(new Set([null]));
  });

  it("has mutual TLS on every connection between sidecars in every step, by the proxies' own counts", () => {
    expect(demo.report.steps).to.have.length(10);
    for (const { step, mutualTls } of demo.report.steps) {
      expect(mutualTls.problems, step).to.deep.equal([]);
      expect(mutualTls.connections, step).to.be.greaterThan(0);
      expect(mutualTls.handshakes, step).to.equal(mutualTls.connections);
      expect(mutualTls.plaintext, step).to.equal(mutualTls.plaintextExpected);
    }
  });

  it('fails no call of a sidecar while policies change, over kept and fresh connections', () => {
    expect(demo.report.background.failures).to.deep.equal([]);
    expect(demo.report.background.failed).to.equal(0);
    expect(demo.report.background.calls).to.be.greaterThan(100);
  });

  it('passes as a whole', () => {
    expect(demo.progress).to.match(/PASSED {2}10 steps, 414 calls checked, 0 not as specified/);
    expect(demo.report.ok).to.equal(true);
  });

  it('shows a cell that is not as expected, and does not pass', async () => {
    const lab = demo.lab();
    try {
      const wrong = {
        ...NO_POLICY,
        rules: [
          {
            from: ['legacy' as const],
            namespace: 'bar' as const,
            service: 'other' as const,
            outcomes: [{ status: 0, exit: 56 }],
          },
        ],
      };
      const result = await runScenario(lab, [wrong], HOST, { started: () => {}, doing: () => {}, finished: () => {} });
      expect(result.ok).to.equal(false);
      const text = result.steps.map((step) => renderStep(step, PLAIN)).join('');
      expect(text).to.include('WRONG  legacy -> other.bar:8000, no token: expected 000/56, got 200');
    } finally {
      await lab.close();
    }
  });
});
