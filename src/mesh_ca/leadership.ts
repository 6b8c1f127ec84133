/** Which of several replicas writes. */

export interface Leadership {
  /**
   * The term that runs now, aborted when it is over; undefined while another replica leads. What is written is written only in a term,
   * and follows on just what was read before, so that a write on its way when the term ends undoes nothing.
   */
  term(): AbortSignal | undefined;
  /** Calls back whenever a term begins, and at once if one runs. */
  onTerm(begun: () => void): void;
  /** Ends the term and lets another replica lead at once. */
  resign(): Promise<void>;
}

/** For a store that only one replica can have: it leads until the signal is aborted. */
export function soleLeader(signal: AbortSignal): Leadership {
  return {
    term: () => (signal.aborted ? undefined : signal),
    onTerm: (begun) => begun(),
    resign: async () => {},
  };
}
