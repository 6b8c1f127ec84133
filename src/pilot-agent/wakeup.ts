/** A bell that is heard by whoever waits, and by the next one to wait when nobody does. */
export class Wakeup {
  #rung = false;
  #waiting: (() => void)[] = [];

  notify(): void {
    this.#rung = this.#waiting.length === 0;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async wait(): Promise<void> {
    if (this.#rung) {
      this.#rung = false;
      return;
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
