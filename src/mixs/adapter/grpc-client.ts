import { setTimeout as sleep } from 'node:timers/promises';
import { HealthCheckResponse_ServingStatus } from '#gen/grpc/health/v1/health.ts';
import type { Logger } from '../../io/log/logger.ts';
import { jittered } from '../../lib/backoff.ts';
import { type Duration, milliseconds, seconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import type { GrpcAdapterParams } from '../../rules/adapter/grpcadapter.ts';
import type { AdapterEnvironment } from './adapter.ts';
import { CircuitBreaker, type Permit } from './circuit-breaker.ts';
import { AdapterConnection } from './grpc-connection.ts';
import { type AdapterMethod, METHODS } from './grpc-methods.ts';
import { AdapterSession, sessionParameters } from './grpc-session.ts';
import type { HandlerCondition } from './handler-conditions.ts';
import { shown } from './shown-text.ts';

/** Calls that wait for an adapter; more would only wait longer. */
const MAX_WAITING = 1_000;
const FIRST_RETRY = milliseconds(200);
/** Between offers of parameters that were refused: the adapter may be replaced by one that takes them. */
const LONGEST_OFFER = seconds(60);
/** By contract the adapter asks for a new session with these. */
const FORGOTTEN: readonly string[] = ['not_found', 'failed_precondition'];

/** Calls an adapter: within its deadline, in a session, and not at all while it does not work. */
export class AdapterClient {
  readonly #params: GrpcAdapterParams;
  readonly #handler: string;
  readonly #logger: Logger;
  readonly #elapsed: () => number;
  readonly #random: () => number;
  readonly #connection: AdapterConnection;
  readonly #session: AdapterSession;
  readonly #breaker: CircuitBreaker;
  readonly #stop: AbortController = new AbortController();
  #tending: Promise<void> = Promise.resolve();
  #health: HandlerCondition['health'] = 'unknown';
  #waiting = 0;
  #failures = 0;
  #trouble: string | undefined;

  constructor(params: GrpcAdapterParams, { handler, logger, elapsed, random, signal }: AdapterEnvironment) {
    const { deadline, circuitBreaker } = params;
    this.#params = params;
    this.#handler = handler;
    this.#logger = logger;
    this.#elapsed = elapsed;
    this.#random = random;
    this.#connection = new AdapterConnection(params);
    this.#session = new AdapterSession(sessionParameters(handler, params), (method, request) =>
      this.#connection.call(method, request, { deadline, signal }),
    );
    this.#breaker = new CircuitBreaker({ ...circuitBreaker, elapsed, random, onOpen: () => this.#connection.giveUp() });
    signal.addEventListener('abort', () => this.#end(), { once: true });
  }

  get condition(): HandlerCondition {
    return {
      circuit: this.#breaker.state,
      session: this.#session.state.kind,
      health: this.#health,
      waiting: this.#waiting,
      failures: this.#failures,
      trouble: this.#trouble,
    };
  }

  /** Opens the session, and from then on asks the adapter how it is. */
  start(): void {
    this.#tending = this.#tend();
  }

  /**
   * One call in the handler's session. `read` makes sense of the answer; what it throws is a failure of the adapter's. Rejects with a
   * MeshError: `cancelled` where the signal was first.
   */
  async call<Req, Res, T>(
    method: AdapterMethod<Req, Res>,
    request: (sessionId: string) => Req,
    read: (answer: Res) => T,
    signal: AbortSignal,
  ): Promise<T> {
    const permit = this.#enter();
    this.#waiting++;
    const until = this.#elapsed() + this.#params.deadline;
    try {
      const value = read(await this.#inSession(method, request, until, signal));
      permit.succeeded();
      this.#works();
      return value;
    } catch (thrown) {
      if (signal.aborted || this.#stop.signal.aborted) {
        permit.abandoned();
        throw thrown;
      }
      const error = notOurs(MeshError.from(thrown));
      this.#failed(error, permit);
      throw error;
    } finally {
      this.#waiting--;
    }
  }

  /** Ends the session. Gives up with the signal. */
  async close(signal: AbortSignal): Promise<void> {
    this.#stop.abort();
    await this.#tending;
    await within(this.#session.close(), this.#params.deadline, signal).catch(() => {});
    this.#end();
  }

  #end(): void {
    this.#stop.abort();
    this.#connection.close();
  }

  #enter(): Permit {
    const { state } = this.#session;
    if (state.kind === 'refused')
      throw new MeshError('failed_precondition', `the adapter refuses the parameters of the handler: ${state.reason}`);
    if (this.#health === 'not serving') throw new MeshError('unavailable', 'the adapter says that it is not serving');
    if (this.#waiting >= MAX_WAITING) throw new MeshError('unavailable', `${MAX_WAITING} calls of the adapter wait already`);
    const permit = this.#breaker.admit();
    if (permit === undefined)
      throw new MeshError('unavailable', `the adapter is not called: ${this.#trouble ?? 'it has failed'}`);
    return permit;
  }

  async #inSession<Req, Res>(
    method: AdapterMethod<Req, Res>,
    request: (sessionId: string) => Req,
    until: number,
    signal: AbortSignal,
  ): Promise<Res> {
    const attempt = async (): Promise<{ readonly answer: Res } | { readonly forgotten: MeshError }> => {
      const { state } = this.#session;
      const id = state.kind === 'open' ? state.id : await within(this.#session.open(), this.#left(until), signal);
      try {
        return { answer: await this.#connection.call(method, request(id), { deadline: this.#left(until), signal }) };
      } catch (thrown) {
        const error = MeshError.from(thrown);
        if (!FORGOTTEN.includes(error.code)) throw error;
        this.#session.forget(id);
        return { forgotten: error };
      }
    };
    const first = await attempt();
    if ('answer' in first) return first.answer;
    this.#logger.info('the adapter has forgotten the session; it is opened again', { handler: this.#handler });
    const second = await attempt();
    if ('answer' in second) return second.answer;
    throw second.forgotten;
  }

  #left(until: number): Duration {
    return milliseconds(Math.max(1, until - this.#elapsed()));
  }

  #failed(error: MeshError, permit: Pick<Permit, 'failed' | 'abandoned'>): void {
    this.#failures++;
    if (error.code === 'invalid') {
      // The adapter works, but not for this call or with these parameters.
      permit.abandoned();
      if (this.#session.state.kind === 'refused') this.#inTrouble(error.message);
    } else {
      permit.failed();
      this.#inTrouble(error.message);
    }
  }

  #inTrouble(reason: string): void {
    const text = shown(reason);
    if (this.#trouble === undefined)
      this.#logger.warn('a gRPC adapter does not do its part', {
        handler: this.#handler,
        address: this.#params.address,
        reason: text,
      });
    this.#trouble = text;
  }

  #works(): void {
    if (this.#trouble === undefined) return;
    this.#logger.info('a gRPC adapter does its part again', { handler: this.#handler, address: this.#params.address });
    this.#trouble = undefined;
  }

  async #tend(): Promise<void> {
    const { healthCheckInterval: interval } = this.#params;
    const { signal } = this.#stop;
    const usual = { first: milliseconds(Math.min(FIRST_RETRY, interval)), longest: interval };
    const refused = { first: interval, longest: milliseconds(Math.max(interval, LONGEST_OFFER)) };
    let failures = 0;
    while (!signal.aborted) {
      failures = (await this.#look()) ? 0 : failures + 1;
      const backoff = this.#session.state.kind === 'refused' ? refused : usual;
      const wait =
        failures === 0
          ? jittered({ first: interval, longest: interval }, 1, this.#random)
          : jittered(backoff, failures, this.#random);
      await sleep(wait, undefined, { signal }).catch(() => {});
    }
  }

  /** Whether there is a session and the adapter is well. */
  async #look(): Promise<boolean> {
    const { signal } = this.#stop;
    try {
      await this.#connection.refresh();
      await this.#session.open();
      this.#health = await this.#askHealth();
      if (this.#health === 'not serving') this.#inTrouble('it says that it is not serving');
      else if (this.#breaker.healthy()) this.#works();
      return this.#health !== 'not serving';
    } catch (thrown) {
      if (signal.aborted) return false;
      this.#health = 'unknown';
      this.#failed(MeshError.from(thrown), { failed: () => this.#breaker.failure(), abandoned: () => {} });
      return false;
    }
  }

  async #askHealth(): Promise<HandlerCondition['health']> {
    const bounds = { deadline: this.#params.deadline, signal: this.#stop.signal };
    const answer = await this.#connection.call(METHODS.health, { service: '' }, bounds).catch((error: MeshError) => {
      // It does not say how it is.
      if (error.code === 'unimplemented' || error.code === 'not_found') return undefined;
      throw error;
    });
    if (answer === undefined) return 'unknown';
    return answer.status === HealthCheckResponse_ServingStatus.NOT_SERVING ? 'not serving' : 'serving';
  }
}

/** What nobody here has cancelled the adapter has: at the deadline, which its clock may reach first. */
function notOurs(error: MeshError): MeshError {
  return error.code === 'cancelled'
    ? new MeshError('unavailable', `the adapter has ended the call: ${error.message}`, error)
    : error;
}

/** The value, or a MeshError `deadline_exceeded` or `cancelled` where it does not come in time. */
function within<T>(promise: Promise<T>, limit: Duration, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', cancelled);
    };
    const cancelled = (): void => {
      end();
      reject(new MeshError('cancelled', 'the request ended before the adapter had answered'));
    };
    const timer = setTimeout(() => {
      end();
      reject(new MeshError('deadline_exceeded', `the adapter has not answered in ${Math.round(limit)} ms`));
    }, limit);
    if (signal.aborted) return cancelled();
    signal.addEventListener('abort', cancelled, { once: true });
    promise.finally(end).then(resolve, reject);
  });
}
