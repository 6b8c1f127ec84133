import type { CallFailure, CallTotals } from './call-record.ts';
import type { MutualTlsProof } from './mutual-tls.ts';
import type { Outcome } from './outcome.ts';
import type { ChangeTimes, ScenarioResult } from './walk.ts';

/** One call, for programs. */
export interface Row {
  readonly step: string;
  readonly title: string;
  /** `apply FILE`, `delete Policy NAMESPACE/NAME` */
  readonly changes: readonly string[];
  readonly client: string;
  readonly server: string;
  readonly service: string;
  readonly port: number;
  readonly token: string;
  /** Any of them is right; status 0 is curl's 000. */
  readonly expected: readonly Outcome[];
  readonly got: Outcome;
  /** SPIFFE URI of the client as the server saw it. */
  readonly peer: string | null;
  readonly problems: readonly string[];
  readonly ok: boolean;
}

/** What holds for a step as a whole. */
export interface StepReport {
  readonly step: string;
  readonly times: ChangeTimes;
  readonly mutualTls: MutualTlsProof;
  readonly background: CallTotals;
  readonly ok: boolean;
}

/** What `--output json` prints. */
export interface Report {
  readonly ok: boolean;
  readonly rows: readonly Row[];
  readonly steps: readonly StepReport[];
  /** Calls between the steps and during them, from a pod with a sidecar. */
  readonly background: CallTotals & { readonly failures: readonly CallFailure[] };
}

export function reportOf({ ok, steps, background, failures }: ScenarioResult): Report {
  return {
    ok,
    rows: steps.flatMap(({ step, cells }) =>
      cells.map(({ client, target, token, expected, got, peer, problems }) => ({
        step: step.name,
        title: step.title,
        changes: step.changes.map((change) =>
          change.type === 'apply' ? `apply ${change.file}` : `delete Policy ${change.namespace}/${change.name}`,
        ),
        client,
        server: target.namespace,
        service: target.service,
        port: target.port,
        token,
        expected,
        got,
        peer: peer ?? null,
        problems,
        ok: problems.length === 0,
      })),
    ),
    steps: steps.map(({ step, times, mutualTls, background: calls, ok: good }) => ({
      step: step.name,
      times,
      mutualTls,
      background: calls,
      ok: good,
    })),
    background: { ...background, failures },
  };
}
