/** What one connection may cost us. */
import { MeshError } from '../../lib/errors.ts';

/** Pings and settings in a window beyond those that data of ours explains. */
const CONTROL_FRAMES_PER_WINDOW = 200;
const WINDOW_MS = 10_000;
/** Clients that estimate the bandwidth (grpc-go, gRPC core) may answer each DATA frame with a ping; frames have 16 KiB, fewer at the end of a flow control window. */
const BYTES_PER_PING = 8 * 1024;

/** Counts the frames that cost us an answer each: pings and settings. */
export class ControlFrameLimit {
  readonly #now: () => number;
  #windowEnds = 0;
  #left = 0;
  #earned = 0;

  /** `now` in milliseconds, monotonic. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Data that went to the client entitles it to pings, in this window and in the next. */
  sent(bytes: number): void {
    const pings = 1 + Math.floor(bytes / BYTES_PER_PING);
    this.#left += pings;
    this.#earned += pings;
  }

  /** Takes note of one; gives whether it was one too many. */
  exceeded(): boolean {
    const now = this.#now();
    if (now >= this.#windowEnds) {
      this.#windowEnds = now + WINDOW_MS;
      this.#left = CONTROL_FRAMES_PER_WINDOW + this.#earned;
      this.#earned = 0;
    }
    this.#left -= 1;
    return this.#left < 0;
  }
}

/** Bounds what the calls of a connection hold together in unfinished request messages. */
export class ByteBudget {
  readonly #size: number;
  #held = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** Changes what is held; throws `resource_exhausted`, and changes nothing, when it would be too much. */
  hold(more: number): void {
    if (this.#held + more > this.#size) {
      throw new MeshError(
        'resource_exhausted',
        `the unfinished request messages of this connection are over ${this.#size} bytes: send fewer at once`,
      );
    }
    this.#held += more;
  }
}
