import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../io/log/logger.ts';
import { type Backoff, jittered } from '../../lib/backoff.ts';
import { type Duration, milliseconds, seconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import type { LossReason } from '../adapter/adapter.ts';

/** One record in the words of its back end. */
export interface Encoded<Text extends string | Uint8Array = string> {
  /** Records of one group stand together in a message. */
  readonly group: string;
  /** Bytes, for a back end whose words are. */
  readonly text: Text;
}

export interface BatchSenderOptions<Text extends string | Uint8Array = string> {
  /** Whose records these are, and where they go; for the log. */
  readonly name: string;
  readonly target: string;
  /**
   * Sends records; gives how many of them the back end refused. A MeshError `unavailable`, `deadline_exceeded` or `resource_exhausted` is
   * tried again, any other loses these records.
   */
  readonly send: (records: readonly Encoded<Text>[], signal: AbortSignal) => Promise<number>;
  /** A record waits this long for others. */
  readonly flushInterval: Duration;
  /** Records that wait, at most. */
  readonly maxRecords: number;
  /** Of the records of one message; MAX_BATCH_BYTES, unless this says otherwise. */
  readonly maxBatchBytes?: number;
  /** Between tries; BACKOFF, unless this says otherwise. */
  readonly backoff?: Backoff;
  readonly onLost: (records: number, reason: LossReason) => void;
  readonly logger: Logger;
  /** Of [0, 1). */
  readonly random: () => number;
  /** Ends everything at once, without a flush. */
  readonly signal: AbortSignal;
}

/** Bytes of records that wait, at most; room for two messages, where those are larger than half of it. */
export const MAX_WAITING_BYTES = 8 * 1024 * 1024;
/** Of one message. */
const MAX_BATCH_RECORDS = 500;
const MAX_BATCH_BYTES = 1024 * 1024;
const BACKOFF: Backoff = { first: milliseconds(200), longest: seconds(10) };
const WORTH_RETRYING: readonly string[] = ['unavailable', 'deadline_exceeded', 'resource_exhausted'];

/**
 * Sends records in batches, one message at a time. What waits is bounded: while the back end is down, those that come when all places are
 * taken are lost and counted. An outage is logged once when it begins and once when it ends.
 */
export class BatchSender<Text extends string | Uint8Array = string> {
  readonly #options: BatchSenderOptions<Text>;
  readonly #maxBatchBytes: number;
  readonly #maxWaitingBytes: number;
  /** So many do not wait for more; the others' places are for those that come meanwhile. */
  readonly #enoughRecords: number;
  readonly #stop: AbortController = new AbortController();
  /** Aborted when the last records are to be sent. */
  readonly #last: AbortController = new AbortController();
  #waiting: { readonly record: Encoded<Text>; readonly bytes: number }[] = [];
  #waitingBytes = 0;
  #running: Promise<void> | undefined;
  #wake: (() => void) | undefined;
  #failures = 0;
  #lostSinceSuccess = 0;

  constructor(options: BatchSenderOptions<Text>) {
    this.#options = options;
    this.#maxBatchBytes = options.maxBatchBytes ?? MAX_BATCH_BYTES;
    this.#maxWaitingBytes = Math.max(MAX_WAITING_BYTES, 2 * this.#maxBatchBytes);
    this.#enoughRecords = Math.min(MAX_BATCH_RECORDS, Math.ceil(options.maxRecords / 2));
    options.signal.addEventListener('abort', () => this.#stop.abort(), { once: true });
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get #closing(): boolean {
    return this.#last.signal.aborted;
  }

  get #isEnough(): boolean {
    return this.#waiting.length >= this.#enoughRecords || this.#waitingBytes >= this.#maxBatchBytes;
  }

  /** Takes a record, or loses it where there is no place. */
  add(record: Encoded<Text>): void {
    const bytes = Buffer.byteLength(record.text);
    const isFull = this.#waiting.length >= this.#options.maxRecords || this.#waitingBytes + bytes > this.#maxWaitingBytes;
    if (this.#closing || isFull || bytes > this.#maxBatchBytes) {
      this.#lose(1, this.#closing ? 'shutdown' : 'queue full');
      return;
    }
    this.#waiting.push({ record, bytes });
    this.#waitingBytes += bytes;
    if (this.#isEnough) this.#wake?.();
    this.#running ??= this.#run();
  }

  /** Sends what waits, for as long as the signal allows; what is left then is lost. */
  async close(signal: AbortSignal): Promise<void> {
    this.#last.abort();
    const giveUp = (): void => this.#stop.abort();
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    this.#wake?.();
    await this.#running;
    signal.removeEventListener('abort', giveUp);
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#stop.signal.aborted) {
      if (this.#failures === 0) await this.#moreOrTime();
      await this.#sendOne();
    }
    if (this.#stop.signal.aborted && this.#waiting.length > 0) {
      this.#lose(this.#waiting.length, 'shutdown');
      this.#take(this.#waiting.length);
    }
    this.#running = undefined;
  }

  async #sendOne(): Promise<void> {
    const batch = this.#nextBatch();
    try {
      const refused = await this.#options.send(batch, this.#stop.signal);
      this.#take(batch.length);
      if (refused > 0) this.#refused(refused, `the back end refuses ${refused} of ${batch.length} records`);
      else this.#works();
    } catch (thrown) {
      if (this.#stop.signal.aborted) return;
      const { code, message } = MeshError.from(thrown);
      if (WORTH_RETRYING.includes(code)) {
        this.#fails(message);
        await this.#backOff();
      } else {
        this.#take(batch.length);
        this.#refused(batch.length, message);
      }
    }
  }

  /** Until a batch is full, the flush interval is over, or there is no more time. */
  #moreOrTime(): Promise<void> {
    if (this.#closing || this.#isEnough) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake?.(), this.#options.flushInterval);
      const { signal } = this.#stop;
      this.#wake = (): void => {
        this.#wake = undefined;
        clearTimeout(timer);
        signal.removeEventListener('abort', woken);
        resolve();
      };
      const woken = (): void => this.#wake?.();
      signal.addEventListener('abort', woken, { once: true });
    });
  }

  async #backOff(): Promise<void> {
    const { random, backoff = BACKOFF } = this.#options;
    // Who closes has little time: a try at once, and then shortly.
    const over = this.#closing ? this.#stop.signal : AbortSignal.any([this.#stop.signal, this.#last.signal]);
    await sleep(jittered(backoff, this.#closing ? 1 : this.#failures, random), undefined, { signal: over }).catch(() => {});
  }

  #nextBatch(): readonly Encoded<Text>[] {
    const batch: Encoded<Text>[] = [];
    let size = 0;
    for (const { record, bytes } of this.#waiting) {
      size += bytes;
      if (batch.length >= MAX_BATCH_RECORDS || (batch.length > 0 && size > this.#maxBatchBytes)) break;
      batch.push(record);
    }
    return batch;
  }

  #take(count: number): void {
    for (const { bytes } of this.#waiting.splice(0, count)) this.#waitingBytes -= bytes;
  }

  #fails(reason: string): void {
    if (this.#failures++ > 0) return;
    const { logger, name, target } = this.#options;
    logger.warn('a back end takes no records: they wait, and are lost when too many do', { handler: name, target, reason });
  }

  #refused(records: number, reason: string): void {
    this.#lose(records, 'refused');
    const { logger, name, target } = this.#options;
    if (this.#failures++ === 0) logger.warn('a back end refuses records', { handler: name, target, reason });
  }

  #works(): void {
    const { logger, name, target } = this.#options;
    const lost = this.#lostSinceSuccess;
    if (this.#failures > 0) logger.info('a back end takes records again', { handler: name, target, lost });
    this.#failures = 0;
    this.#lostSinceSuccess = 0;
  }

  #lose(records: number, reason: LossReason): void {
    this.#lostSinceSuccess += records;
    this.#options.onLost(records, reason);
  }
}
