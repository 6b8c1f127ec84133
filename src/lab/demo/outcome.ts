/** What curl reports of one call. */
export interface Outcome {
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** curl's exit code. */
  readonly exit: number;
}

/** An answer with that HTTP status. */
export function answered(status: number): Outcome {
  return { status, exit: 0 };
}

/** The server's proxy reset the connection: status 000, exit code 56 (CURLE_RECV_ERROR). */
export const RESET: Outcome = { status: 0, exit: 56 };

/** `200`, `000/56` */
export function formatOutcome({ status, exit }: Outcome): string {
  const code = `${status}`.padStart(3, '0');
  return exit === 0 ? code : `${code}/${exit}`;
}

/** `401|403` */
export function formatOutcomes(outcomes: readonly Outcome[]): string {
  return outcomes.map(formatOutcome).join('|');
}

export function isOneOf(outcome: Outcome, expected: readonly Outcome[]): boolean {
  return expected.some(({ status, exit }) => status === outcome.status && exit === outcome.exit);
}
