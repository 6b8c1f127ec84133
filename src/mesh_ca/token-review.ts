/** Asks the API server whose a service account token is (TokenReview, authentication.k8s.io/v1). */
import { hash } from 'node:crypto';
import jwt from 'jsonwebtoken';
import type { VerifiedToken } from '../io/jwks/verify-token.ts';
import type { KubernetesClient } from '../io/kubernetes/client.ts';
import type { Logger } from '../io/log/logger.ts';
import { type Backoff, jittered } from '../lib/backoff.ts';
import { type Duration, milliseconds, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import type { Redacted } from '../lib/redacted.ts';

export interface ReviewOptions {
  readonly client: Pick<KubernetesClient, 'request'>;
  /** Whom tokens must be meant for. */
  readonly audience: string;
  /** Of a clock that never jumps. */
  readonly uptime: () => Duration;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Rejects with `unauthenticated` for a token that is refused, and `unavailable` while nobody can tell. */
export type TokenReviewer = (token: Redacted, now: Date) => Promise<VerifiedToken>;

const DEADLINE: Duration = seconds(5);
/** A pod that is gone has no good token any more; this much later nobody takes it. */
const REMEMBERED: Duration = seconds(30);
const REFUSAL_REMEMBERED: Duration = seconds(5);
const MAX_REMEMBERED = 4_096;
/** As many as an API server answers within the deadline, when all pods come at once. */
const MAX_AT_ONCE = 512;
const MAX_LENGTH = 16 * 1024;
const BACKOFF: Backoff = { first: milliseconds(200), longest: seconds(5) };
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const POD_NAME = 'authentication.kubernetes.io/pod-name';

interface Remembered {
  readonly answer: VerifiedToken | MeshError;
  readonly until: Duration;
}

export function createTokenReviewer(options: ReviewOptions): TokenReviewer {
  const reviewer = new Reviewer(options);
  return (token, now) => reviewer.review(token, now);
}

class Reviewer {
  readonly #options: ReviewOptions;
  /** By hash of the token, the oldest first. */
  readonly #remembered = new Map<string, Remembered>();
  readonly #running = new Map<string, Promise<VerifiedToken>>();
  #failures = 0;
  #askAgain: Duration = milliseconds(0);

  constructor(options: ReviewOptions) {
    this.#options = options;
  }

  async review(token: Redacted, now: Date): Promise<VerifiedToken> {
    const text = token.reveal();
    if (text.length > MAX_LENGTH || !JWT.test(text)) throw refused('it is not a JSON Web Token');
    const key = hash('sha256', text);
    const known = this.#remembered.get(key);
    if (known !== undefined && this.#options.uptime() < known.until) {
      if (known.answer instanceof MeshError) throw known.answer;
      return known.answer;
    }
    return this.#running.get(key) ?? this.#begin(key, text, now);
  }

  #begin(key: string, text: string, now: Date): Promise<VerifiedToken> {
    if (this.#options.uptime() < this.#askAgain) throw unavailable('the API server could not be asked a moment ago');
    if (this.#running.size >= MAX_AT_ONCE) throw unavailable('too many tokens are being reviewed');
    const running = this.#ask(key, text, now).finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }

  async #ask(key: string, text: string, now: Date): Promise<VerifiedToken> {
    const { audience } = this.#options;
    const status = readStatus(await this.#request(text));
    if (status.refusal !== undefined || !status.audiences.includes(audience)) {
      const error = refused(status.refusal ?? `it is not meant for us: the audience ${audience} is needed`);
      this.#remember(key, error, REFUSAL_REMEMBERED);
      throw error;
    }
    const pod = status.pod === undefined ? {} : { 'kubernetes.io': { pod: { name: status.pod } } };
    const verified = { issuer: 'the API server', subject: status.username, claims: pod };
    this.#remember(key, verified, Math.min(REMEMBERED, lifeLeft(text, now)));
    return verified;
  }

  async #request(token: string): Promise<unknown> {
    const { client, audience, signal, logger, uptime, random } = this.#options;
    try {
      const answer = await client.request({
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/tokenreviews',
        what: 'review a token',
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token, audiences: [audience] } },
        deadline: DEADLINE,
        signal,
      });
      this.#failures = 0;
      return answer;
    } catch (thrown) {
      this.#failures += 1;
      this.#askAgain = milliseconds(uptime() + jittered(BACKOFF, this.#failures, random));
      logger.error('tokens cannot be reviewed, so their callers are refused', { reason: MeshError.from(thrown).message });
      throw unavailable('the API server cannot be asked', thrown);
    }
  }

  #remember(key: string, answer: VerifiedToken | MeshError, time: number): void {
    if (time <= 0) return;
    this.#remembered.delete(key);
    this.#remembered.set(key, { answer, until: milliseconds(this.#options.uptime() + time) });
    for (const oldest of this.#remembered.keys()) {
      if (this.#remembered.size <= MAX_REMEMBERED) return;
      this.#remembered.delete(oldest);
    }
  }
}

interface ReviewStatus {
  /** Undefined: it is good. */
  readonly refusal: string | undefined;
  readonly audiences: readonly unknown[];
  readonly username: string;
  /** The pod that the token is bound to. */
  readonly pod: string | undefined;
}

/** Anything but a clear yes is a no. */
function readStatus(answer: unknown): ReviewStatus {
  const { authenticated, audiences, user, error } = fieldsOf(fieldsOf(answer)['status']);
  const { username, extra } = fieldsOf(user);
  const names = fieldsOf(extra)[POD_NAME];
  const pod: unknown = Array.isArray(names) ? names[0] : undefined;
  const isGood = authenticated === true && typeof username === 'string' && username !== '';
  // What the server says of a bad token is for the operator's eyes as much as for the caller's: it holds nothing of the token.
  const reason = typeof error === 'string' && error !== '' ? error.slice(0, 200) : 'the API server does not know it';
  return {
    refusal: isGood ? undefined : reason,
    audiences: Array.isArray(audiences) ? audiences : [],
    username: typeof username === 'string' ? username : '',
    pod: typeof pod === 'string' ? pod : undefined,
  };
}

/** Of a token that was found good, in milliseconds. */
function lifeLeft(text: string, now: Date): number {
  const payload = jwt.decode(text);
  const end = typeof payload === 'object' ? payload?.exp : undefined;
  return end === undefined ? 0 : end * 1000 - now.getTime();
}

function refused(reason: string): MeshError {
  return new MeshError('unauthenticated', `the token is refused: ${reason}`);
}

function unavailable(reason: string, cause?: unknown): MeshError {
  return new MeshError('unavailable', `the token cannot be checked now: ${reason}, try again`, cause);
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Readonly<Record<string, unknown>>) : {};
}
