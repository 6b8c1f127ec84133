/** A thin client of the Kubernetes API: requests and watches over HTTPS, bounded in time and size. */
import { type IncomingMessage, type OutgoingHttpHeaders, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { type Duration, seconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import type { Access } from './access.ts';
import { readAnswer } from './answer.ts';
import { ApiError, toApiError } from './api-error.ts';
import { type Authenticator, type Credentials, createAuthenticator } from './authenticator.ts';
import { Connections } from './connections.ts';
import { describeFailure, StaleConnection } from './failure.ts';
import { readFrames } from './frames.ts';

export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** From the root of the API: `/api/v1/namespaces/foo/pods`; its segments are escaped already. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** What is done, for messages: `list services in namespace foo`. */
  readonly what: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Of the body; default `application/json`. Patches have types of their own. */
  readonly contentType?: string;
  /** For all of it, waits that the server asks for included. Default 30 s. */
  readonly deadline?: Duration;
  readonly signal?: AbortSignal;
}

export interface WatchCall {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly what: string;
  /** When a watch that the server should have ended is ended by us. */
  readonly deadline: Duration;
  readonly signal: AbortSignal;
}

/**
 * Errors are ApiErrors for what the server refuses, and MeshErrors `unavailable` (no connection), `deadline_exceeded`,
 * `resource_exhausted` (an answer too long), `unauthenticated` (no credentials to be had) and `cancelled`.
 */
export interface KubernetesClient {
  /** The server's address, for messages. */
  readonly server: string;
  /** The answer's JSON. Waits and tries again when the server asks for that (429, Retry-After). */
  request(call: ApiCall): Promise<unknown>;
  /**
   * Resolves when the server has agreed to a watch, with its frames as they come: until the server ends it, or with an error when the
   * connection breaks, the signal is aborted or the deadline passes.
   */
  watch(call: WatchCall): Promise<AsyncIterable<unknown>>;
  /** Ends all connections. */
  close(): void;
}

export interface ClientOptions {
  readonly access: Access;
  /** The flag that named the configuration, for messages. */
  readonly flag: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  /** Resolves after the time, rejects when the signal is aborted. */
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
  readonly userAgent: string;
  /** Longer answers are refused with `resource_exhausted`. Default 64 MiB. */
  readonly maxAnswerBytes?: number;
}

const DEADLINE: Duration = seconds(30);
/** Objects end at about 1.5 MiB in etcd, a little more as JSON. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024;
/** An answer that is longer is cut into pages by those who list. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_WAITS = 5;
const KEEPALIVE_MS = 30_000;

interface Sent extends Pick<ApiCall, 'method' | 'path' | 'query' | 'what' | 'body' | 'contentType'> {
  readonly connection: 'requests' | 'watches';
  readonly signal: AbortSignal;
}

export function createKubernetesClient(options: ClientOptions): KubernetesClient {
  return new HttpClient(options);
}

class HttpClient implements KubernetesClient {
  readonly server: string;
  readonly #options: ClientOptions;
  readonly #authenticator: Authenticator;
  readonly #connections: Connections;

  constructor(options: ClientOptions) {
    const { access, env, now } = options;
    this.server = access.server.url;
    this.#options = options;
    this.#authenticator = createAuthenticator(access.user, { env, now });
    this.#connections = new Connections(access.server, env, now);
  }

  async request(call: ApiCall): Promise<unknown> {
    const limit = call.deadline ?? DEADLINE;
    const deadline = AbortSignal.timeout(Math.ceil(limit));
    const signal = call.signal === undefined ? deadline : AbortSignal.any([call.signal, deadline]);
    try {
      for (let waits = 0; ; waits += 1) {
        const response = await this.#send({ ...call, connection: 'requests', signal });
        const body = await this.#read(response, call.what);
        const { statusCode: status = 0 } = response;
        if (status >= 200 && status < 300) return body;
        const error = this.#refusal(call.what, response, body);
        if (error.retryAfter === undefined || waits >= MAX_WAITS || (status !== 429 && status < 500)) throw error;
        await this.#options.sleep(seconds(error.retryAfter), signal);
      }
    } catch (error) {
      throw this.#explain(error, call.what, call.signal, deadline, limit);
    }
  }

  async watch(call: WatchCall): Promise<AsyncIterable<unknown>> {
    const deadline = AbortSignal.timeout(Math.ceil(call.deadline));
    const signal = AbortSignal.any([call.signal, deadline]);
    const explain = (error: unknown): MeshError => this.#explain(error, call.what, call.signal, deadline, call.deadline);
    const response = await this.#openWatch(call, signal).catch((error: unknown) => {
      throw explain(error);
    });
    return framesOf(response, explain);
  }

  close(): void {
    this.#connections.close();
  }

  /** The server answers a watch at once, and then sends what happens. */
  async #openWatch(call: WatchCall, signal: AbortSignal): Promise<IncomingMessage> {
    const opening = new AbortController();
    const timer = setTimeout(() => opening.abort(), DEADLINE);
    try {
      const sent = { ...call, method: 'GET', connection: 'watches', signal: AbortSignal.any([signal, opening.signal]) } as const;
      const response = await this.#send(sent);
      if (response.statusCode === 200) return response;
      throw this.#refusal(call.what, response, await this.#read(response, call.what));
    } catch (error) {
      if (!opening.signal.aborted || signal.aborted) throw error;
      throw new MeshError('deadline_exceeded', `cannot ${call.what}: ${this.#place} did not answer in ${DEADLINE} ms`, error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends a request; once more when what it was authenticated with may have been renewed, or the kept connection was just closed. */
  async #send(sent: Sent): Promise<IncomingMessage> {
    const credentials = await this.#authenticator.credentials();
    const response = await this.#sendWith(credentials, sent);
    if (response.statusCode !== 401 || !credentials.refused()) return response;
    response.resume();
    return this.#sendWith(await this.#authenticator.credentials(), sent);
  }

  async #sendWith(credentials: Credentials, sent: Sent): Promise<IncomingMessage> {
    try {
      return await this.#transmit(credentials, sent);
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw error;
      return await this.#transmit(credentials, sent);
    }
  }

  async #transmit(credentials: Credentials, sent: Sent): Promise<IncomingMessage> {
    const agents = await this.#connections.agents(credentials.certificate);
    const { method, body, signal, connection } = sent;
    signal.throwIfAborted();
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const headers: OutgoingHttpHeaders = {
      accept: 'application/json',
      'user-agent': this.#options.userAgent,
      ...credentials.headers,
    };
    if (payload !== undefined) {
      headers['content-type'] = sent.contentType ?? 'application/json';
      headers['content-length'] = payload.length;
    }
    const url = new URL(`${this.server}${sent.path}`);
    for (const [name, value] of Object.entries(sent.query ?? {})) url.searchParams.set(name, value);
    const open = url.protocol === 'http:' ? requestHttp : requestHttps;
    return new Promise((resolve, reject) => {
      const request = open(url, { method, headers, agent: agents[connection], signal }, resolve);
      if (connection === 'watches') request.setSocketKeepAlive(true, KEEPALIVE_MS);
      request.on('error', (error) => {
        const stale = request.reusedSocket && method === 'GET' && 'code' in error && error.code === 'ECONNRESET';
        reject(stale ? new StaleConnection(error) : error);
      });
      request.end(payload);
    });
  }

  #read(response: IncomingMessage, what: string): Promise<unknown> {
    return readAnswer(response, what, this.#options.maxAnswerBytes ?? MAX_ANSWER_BYTES);
  }

  #refusal(what: string, response: IncomingMessage, body: unknown): ApiError {
    const { statusCode: status = 0, headers } = response;
    const retryAfter = headers['retry-after'];
    const user = this.#options.access.user.name;
    return toApiError({ what, server: this.server, user, status, body, retryAfter });
  }

  get #place(): string {
    return `the API server at ${this.server}, given by ${this.#options.flag},`;
  }

  #explain(thrown: unknown, what: string, signal: AbortSignal | undefined, deadline: AbortSignal, limit: Duration): MeshError {
    if (signal?.aborted) return new MeshError('cancelled', `cancelled: ${what}`, thrown);
    if (thrown instanceof ApiError) return thrown;
    if (deadline.aborted) {
      return new MeshError('deadline_exceeded', `cannot ${what}: ${this.#place} did not answer in ${limit} ms`, thrown);
    }
    if (thrown instanceof MeshError) return thrown;
    return new MeshError('unavailable', `cannot ${what}: ${this.#place} ${describeFailure(thrown)}`, thrown);
  }
}

async function* framesOf(
  response: IncomingMessage,
  explain: (error: unknown) => MeshError,
): AsyncGenerator<unknown, void, undefined> {
  try {
    yield* readFrames(response, MAX_FRAME_BYTES);
  } catch (error) {
    throw explain(error);
  } finally {
    response.destroy();
  }
}
