const cell = new Int32Array(new SharedArrayBuffer(4));
/** Less than a timer of Node can wait, so that sends are even; answers are seen that much later at most, and are charged for it. */
const LONGEST_WAIT_MS = 0.1;

/**
 * Calls `send` at even intervals, `rate` times a second for `ms`, with the time at which it was due: an answer that is late because earlier
 * ones were is late all the same (no coordinated omission). Gives how late it was called itself, in milliseconds.
 */
export async function atRate(rate: number, ms: number, send: (due: number) => void): Promise<readonly number[]> {
  const begin = performance.now();
  const late: number[] = [];
  for (let sent = 0; ; ) {
    const now = performance.now();
    if (now - begin >= ms) return late;
    for (let due = begin + (sent / rate) * 1000; due <= now; due = begin + (++sent / rate) * 1000) {
      late.push(now - due);
      send(due);
    }
    const rest = begin + (sent / rate) * 1000 - performance.now();
    if (rest > 0) Atomics.wait(cell, 0, 0, Math.min(rest, LONGEST_WAIT_MS));
    // Sockets have their turn.
    await new Promise(setImmediate);
  }
}
