import type { CallTotals } from '../../src/lab/demo/call-record.ts';
import type { Call, CallResult, ExpectedCell } from '../../src/lab/demo/cells.ts';
import { type MeshCounts, SIDECARS } from '../../src/lab/demo/mutual-tls.ts';
import { answered } from '../../src/lab/demo/outcome.ts';
import type { Change } from '../../src/lab/demo/steps.ts';
import { CLIENT, hasSidecar, hostOf } from '../../src/lab/demo/topology.ts';
import type { ChangeTimes, MeshUnderTest } from '../../src/lab/demo/walk.ts';

/** A mesh that does what each step expects, except where a test tells it otherwise. */
export class FakeMesh implements MeshUnderTest {
  readonly changes: (readonly Change[])[] = [];
  /** What a call comes to instead. */
  answer: (call: Call) => Partial<CallResult> = () => ({});
  /** Connections between sidecars that carry plaintext. */
  unencrypted = 0;
  /** Plaintext connections that a sidecar takes and no call of the step explains. */
  intruders = 0;
  /** How often counts are read before a connection in the making has its handshake. */
  handshakesLate = 0;
  totals: CallTotals = { calls: 0, failed: 0 };
  #requests = 0;
  #plaintext = 0;

  async change(changes: readonly Change[]): Promise<ChangeTimes> {
    this.changes.push(changes);
    return { acknowledgedMs: 150, drainedMs: 2_000 };
  }

  async call(calls: readonly ExpectedCell[]): Promise<readonly CallResult[]> {
    this.#requests++;
    const results = calls.map((call) => ({ ...this.#asExpected(call), ...this.answer(call) }));
    const isPlain = (call: Call): boolean => !hasSidecar(call.client) && hostOf(call.target) === 'httpbin.foo';
    this.#plaintext += this.intruders;
    this.#plaintext += calls.filter((call, index) => isPlain(call) && results[index]?.outcome.status !== 0).length;
    this.totals = { ...this.totals, calls: this.totals.calls + 10 };
    return results;
  }

  async counts(): Promise<MeshCounts> {
    const late = this.handshakesLate > 0 ? 1 : 0;
    this.handshakesLate -= late;
    const outbound = new Map(
      ['httpbin.foo:8000', 'httpbin.foo:1234', 'other.foo:8000', 'httpbin.bar:8000', 'httpbin.bar:1234', 'other.bar:8000'].map(
        (host) => [host, { requests: this.#requests, connections: 3, handshakes: 3 - this.unencrypted - late }],
      ),
    );
    return new Map(
      SIDECARS.map((workload) => {
        const plaintext = workload === 'httpbin.foo' ? this.#plaintext : 0;
        return [workload, { inbound: { connections: 5 + plaintext, handshakes: 5 }, outbound }];
      }),
    );
  }

  background(): ReturnType<MeshUnderTest['background']> {
    return { totals: this.totals, failures: [] };
  }

  #asExpected({ client, target, expected }: ExpectedCell): CallResult {
    const outcome = expected.at(-1) ?? answered(200);
    const isMutual = outcome.status === 200 && hasSidecar(client) && hasSidecar(target.namespace);
    const uri = `spiffe://cluster.local/ns/${client}/sa/${CLIENT}`;
    return { outcome, peerCertificate: isMutual ? `By=spiffe://cluster.local/ns/foo/sa/x;Hash=ab;URI=${uri}` : undefined };
  }
}
