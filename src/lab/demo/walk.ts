import type { CallFailure, CallTotals } from './call-record.ts';
import { type CallResult, type Cell, type ExpectedCell, expectedCells, judge } from './cells.ts';
import { isSettled, type MeshCounts, type MutualTlsProof, proveMutualTls } from './mutual-tls.ts';
import type { Change, Step } from './steps.ts';

/** Milliseconds from a change of policy. */
export interface ChangeTimes {
  /** Every proxy has acknowledged it: it decides about new connections. */
  readonly acknowledgedMs: number;
  /** The connections that were made before are closed or have been told: it decides about all of them. */
  readonly drainedMs: number;
}

/** The mesh that the scenario is walked through; the lab in production. */
export interface MeshUnderTest {
  /** Makes the changes; settles when they decide about every connection. */
  change(changes: readonly Change[]): Promise<ChangeTimes>;
  /** Makes the calls; results in their order. */
  call(calls: readonly ExpectedCell[]): Promise<readonly CallResult[]>;
  counts(): Promise<MeshCounts>;
  /** The background clients' calls so far. */
  background(): { readonly totals: CallTotals; readonly failures: readonly CallFailure[] };
}

export interface StepResult {
  readonly step: Step;
  readonly times: ChangeTimes;
  readonly cells: readonly Cell[];
  readonly mutualTls: MutualTlsProof;
  /** Of the background clients, in this step. */
  readonly background: CallTotals;
  readonly ok: boolean;
}

export interface ScenarioResult {
  readonly steps: readonly StepResult[];
  readonly background: CallTotals;
  readonly failures: readonly CallFailure[];
  /** Every cell, every proof and every background call is as specified. */
  readonly ok: boolean;
}

/** Is told how it goes. */
export interface WalkListener {
  started(step: Step): void;
  /** What is being done right now. */
  doing(what: string): void;
  finished(result: StepResult): void;
}

/** How often counts are read again that a connection in the making has put out of step. */
const COUNT_ATTEMPTS = 20;

/** Walks a mesh through the steps, all of them, whatever comes of each. */
export async function walk(steps: readonly Step[], mesh: MeshUnderTest, listener: WalkListener): Promise<ScenarioResult> {
  const results: StepResult[] = [];
  let last: CallTotals = mesh.background().totals;
  for (const step of steps) {
    listener.started(step);
    const { times, cells, mutualTls } = await runStep(step, mesh, listener);
    const { totals } = mesh.background();
    const background = { calls: totals.calls - last.calls, failed: totals.failed - last.failed };
    last = totals;
    const ok = cells.every(({ problems }) => problems.length === 0) && mutualTls.problems.length === 0 && background.failed === 0;
    const result = { step, times, cells, mutualTls, background, ok };
    results.push(result);
    listener.finished(result);
  }
  const { totals, failures } = mesh.background();
  return {
    steps: results,
    background: totals,
    failures,
    ok: results.every(({ ok }) => ok) && totals.calls > 0 && totals.failed === 0,
  };
}

async function runStep(
  step: Step,
  mesh: MeshUnderTest,
  listener: WalkListener,
): Promise<Pick<StepResult, 'times' | 'cells' | 'mutualTls'>> {
  listener.doing('waiting until every proxy has the policies and serves nothing older');
  const times = await mesh.change(step.changes);
  const expected = expectedCells(step);
  listener.doing(`making ${expected.length} calls`);
  const before = await until(() => mesh.counts(), isSettled);
  const results = await mesh.call(expected);
  const cells = expected.map((cell, index) => judge(cell, results[index] ?? NO_RESULT));
  const prove = async (): Promise<MutualTlsProof> => proveMutualTls(before, await mesh.counts(), cells);
  return { times, cells, mutualTls: await until(prove, ({ problems }) => problems.length === 0) };
}

const NO_RESULT: CallResult = { outcome: { status: 0, exit: -1 }, peerCertificate: undefined };

/** A connection in the making counts before its handshake is done; reading again tells it from a plaintext one. */
async function until<T>(read: () => Promise<T>, isGood: (value: T) => boolean): Promise<T> {
  let value = await read();
  for (let attempt = 1; attempt < COUNT_ATTEMPTS && !isGood(value); attempt++) value = await read();
  return value;
}
