/** How finely time is cut: what was taken is there again after the window's length and a tenth of it at most. */
const SLOTS = 10;

/** What was taken of an amount within the last so many milliseconds, of a clock that never goes back. */
export class RollingWindow {
  readonly #slotMs: number;
  readonly #taken = new Float64Array(SLOTS + 1);
  #slot = Number.NEGATIVE_INFINITY;
  #sum = 0;

  constructor(lengthMs: number) {
    this.#slotMs = lengthMs / SLOTS;
  }

  /** Takes the amount if `max` allows it, or what is left where less will do; gives what was taken. */
  take(amount: number, max: number, lessWillDo: boolean, ms: number): number {
    this.#advance(ms);
    const left = Math.max(0, max - this.#sum);
    const taken = amount <= left ? amount : lessWillDo ? left : 0;
    const index = this.#indexOf(this.#slot);
    this.#taken[index] = (this.#taken[index] ?? 0) + taken;
    this.#sum += taken;
    return taken;
  }

  isIdle(ms: number): boolean {
    this.#advance(ms);
    return this.#sum === 0;
  }

  #indexOf(slot: number): number {
    return ((slot % this.#taken.length) + this.#taken.length) % this.#taken.length;
  }

  /** Forgets the slots that have gone out of the window. */
  #advance(ms: number): void {
    const now = Math.floor(ms / this.#slotMs);
    if (now === this.#slot) return;
    if (now - this.#slot > SLOTS) {
      this.#taken.fill(0);
      this.#sum = 0;
    } else {
      for (let slot = this.#slot + 1; slot <= now; slot++) {
        const index = this.#indexOf(slot);
        this.#sum -= this.#taken[index] ?? 0;
        this.#taken[index] = 0;
      }
    }
    this.#slot = now;
  }
}
