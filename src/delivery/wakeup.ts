/** Lets one loop sleep until something happened; what happens while it is awake is not lost. */
export class Wakeup {
  #pending = false;
  #resolve: (() => void) | undefined;

  wake(): void {
    this.#pending = true;
    this.#resolve?.();
  }

  async sleep(): Promise<void> {
    if (!this.#pending) {
      await new Promise<void>((resolve) => {
        this.#resolve = resolve;
      });
    }
    this.#resolve = undefined;
    this.#pending = false;
  }
}
