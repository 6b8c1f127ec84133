import { Redis } from 'ioredis';
import { jittered } from '../../lib/backoff.ts';
import { milliseconds, seconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import type { AdapterEnvironment } from './adapter.ts';
import type { RedisScript } from './redis-scripts.ts';

const CONNECT_LIMIT_MS = 2_000;
const COMMAND_LIMIT_MS = 1_000;
/** Calls that wait for answers on one connection; more would only wait longer. */
const MAX_WAITING = 1_000;
const RECONNECT = { first: milliseconds(50), longest: seconds(5) };

/** One connection to a Redis, made again whenever it is lost. Calls fail at once while there is none. */
export class RedisConnection {
  readonly #redis: Redis;
  #waiting = 0;
  #givenUp = false;

  constructor(url: string, { handler, logger, random, signal }: AdapterEnvironment) {
    const { host } = new URL(url);
    this.#redis = new Redis(url, {
      connectTimeout: CONNECT_LIMIT_MS,
      commandTimeout: COMMAND_LIMIT_MS,
      // Nothing is kept for later, and nothing is counted twice.
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      retryStrategy: (times) => jittered(RECONNECT, times, random),
    });
    let down: string | undefined;
    const lost = (reason: string): void => {
      if (down === undefined && !signal.aborted) logger.warn('redis does not answer', { handler, server: host, reason });
      down ??= reason;
    };
    this.#redis.on('error', (error: Error) => lost(error.message));
    this.#redis.on('close', () => {
      this.#givenUp = false;
      lost('the connection is closed');
    });
    this.#redis.on('ready', () => {
      if (down !== undefined) logger.info('redis answers again', { handler, server: host });
      down = undefined;
    });
    signal.addEventListener('abort', () => this.close(), { once: true });
  }

  /** Runs a script in Redis, and sends its text where Redis does not know it (any more). Throws a MeshError when Redis gives no answer in time. */
  async run({ text, sha1 }: RedisScript, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown> {
    if (this.#redis.status !== 'ready') throw new MeshError('unavailable', 'redis cannot be reached');
    if (this.#waiting >= MAX_WAITING) throw new MeshError('unavailable', `${MAX_WAITING} calls of redis wait already`);
    this.#waiting++;
    const rest = [keys.length, ...keys, ...values] as const;
    try {
      return await this.#redis.evalsha(sha1, ...rest).catch((error: Error) => {
        if (error.message.startsWith('NOSCRIPT')) return this.#redis.eval(text, ...rest);
        throw error;
      });
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      if (reason === 'Command timed out') this.#giveUp();
      throw new MeshError('unavailable', `redis gives no answer: ${reason}`, thrown);
    } finally {
      this.#waiting--;
    }
  }

  /** Answers come in the order of calls: behind one that does not come, none will. A new connection forgets them all. */
  #giveUp(): void {
    if (this.#givenUp) return;
    this.#givenUp = true;
    this.#redis.disconnect(true);
  }

  close(): void {
    this.#redis.disconnect();
  }
}
