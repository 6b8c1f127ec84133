/** One failed call of the background clients. */
export interface CallFailure {
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  readonly url: string;
  readonly connection: string;
  readonly at: Date;
  /** The change of policy before it, and how long before. */
  readonly after: string;
  readonly afterMs: number;
}

export interface CallTotals {
  readonly calls: number;
  readonly failed: number;
}

/** Kept in full; of more only the number is. */
const KEPT_FAILURES = 20;

/** What the background clients have come to so far. */
export class CallRecord {
  readonly #failures: CallFailure[] = [];
  #calls = 0;
  #failed = 0;
  #change = 'the start';
  #changedAt: Date;

  constructor(now: Date) {
    this.#changedAt = now;
  }

  /** Notes a change of policy, by which failures are told apart. */
  changed(what: string, at: Date): void {
    this.#change = what;
    this.#changedAt = at;
  }

  /** Takes a line `STATUS CONNECTION URL` of the clients; any other line is a call that failed. */
  take(line: string, at: Date): void {
    const match = /^(\d{3}) (\S+) (\S+)$/.exec(line);
    const [, status = '000', connection = 'unknown', url = line] = match ?? [];
    this.#calls++;
    if (status === '200') return;
    this.#failed++;
    if (this.#failures.length >= KEPT_FAILURES) return;
    const afterMs = at.getTime() - this.#changedAt.getTime();
    this.#failures.push({ status: Number(status), url, connection, at, after: this.#change, afterMs });
  }

  get totals(): CallTotals {
    return { calls: this.#calls, failed: this.#failed };
  }

  get failures(): readonly CallFailure[] {
    return this.#failures;
  }
}
