import { type Duration, milliseconds } from '../../lib/duration.ts';

/** Doubles from a second to half a minute, where the kubelet's ten seconds to five minutes would make a lab wait. */
const FIRST = 1_000;
const MAX = 30_000;
/** A run this long counts as a success: the next failure starts anew. */
const FORGIVEN_AFTER = 60_000;

/** How long to wait before a container that ended is started again. */
export class RestartBackoff {
  #next = FIRST;

  /** `ran` is how long the last run took; up to a tenth is added at random, so that pods do not restart in step. */
  after(ran: Duration, random: () => number): Duration {
    if (ran >= FORGIVEN_AFTER) this.#next = FIRST;
    const wait = this.#next;
    this.#next = Math.min(MAX, wait * 2);
    return milliseconds(wait * (1 + random() / 10));
  }
}
