/** What an API server's refusal means (https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/). */
import { type ErrorCode, MeshError } from '../../lib/errors.ts';

/** One of the reasons of a refusal. */
export interface ErrorCause {
  /** The API's word for it: `FieldManagerConflict`, `FieldValueInvalid`. */
  readonly reason: string;
  readonly message: string;
  /** `.spec.replicas`; empty where it is none of one field. */
  readonly field: string;
}

/** A refusal by the API server. */
export class ApiError extends MeshError {
  /** The HTTP status. */
  readonly status: number;
  /** The API's word for it: `Conflict`, `Expired`; empty where the answer had none. */
  readonly reason: string;
  /** How long the server asks us to wait, in seconds. */
  readonly retryAfter: number | undefined;
  readonly causes: readonly ErrorCause[];

  constructor(code: ErrorCode, message: string, answer: Pick<ApiError, 'status' | 'reason' | 'retryAfter' | 'causes'>) {
    super(code, message);
    this.causes = answer.causes;
    this.status = answer.status;
    this.reason = answer.reason;
    this.retryAfter = answer.retryAfter;
  }

  /** The resource version (or the continuation of a list) is older than what the server still knows. */
  get isExpired(): boolean {
    return this.status === 410;
  }
}

export interface Refusal {
  /** What was asked for: `list services in namespace foo`. */
  readonly what: string;
  /** The server's address. */
  readonly server: string;
  /** The user's name in the configuration. */
  readonly user: string;
  readonly status: number;
  /** The body, if it was JSON. */
  readonly body: unknown;
  /** The Retry-After header. */
  readonly retryAfter?: string | undefined;
}

const MAX_MESSAGE = 2_000;
const MAX_CAUSES = 100;

export function toApiError(refusal: Refusal): ApiError {
  const { reason, message, retryAfterSeconds, causes } = readStatus(refusal.body);
  const code = codeOf(refusal.status, reason);
  const seconds = Number(refusal.retryAfter ?? retryAfterSeconds);
  const retryAfter = Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined;
  return new ApiError(code, describe(refusal, code, message), { status: refusal.status, reason, retryAfter, causes });
}

function describe({ what, server, user, status }: Refusal, code: ErrorCode, message: string): string {
  const said = message === '' ? `HTTP status ${status}` : message;
  if (code === 'unauthenticated') {
    return `cannot ${what}: the API server at ${server} does not accept the credentials of user "${user}" (${said})`;
  }
  if (code === 'permission_denied') return `cannot ${what}: the API server at ${server} refuses it to user "${user}": ${said}`;
  if (code === 'not_found' && message === '') {
    return `cannot ${what}: the API server at ${server} does not know such objects; install their custom resource definition`;
  }
  return `cannot ${what}: ${said}`;
}

function codeOf(status: number, reason: string): ErrorCode {
  switch (status) {
    case 400:
    case 422:
      return 'invalid';
    case 401:
      return 'unauthenticated';
    case 403:
      return 'permission_denied';
    case 404:
      return 'not_found';
    case 405:
    case 406:
    case 415:
      return 'unimplemented';
    case 409:
      return reason === 'AlreadyExists' ? 'already_exists' : 'conflict';
    case 410:
      return 'failed_precondition';
    case 413:
      return 'resource_exhausted';
    case 504:
      return 'deadline_exceeded';
    default:
      return status === 429 || status >= 500 ? 'unavailable' : 'internal';
  }
}

interface Status {
  readonly reason: string;
  readonly message: string;
  readonly retryAfterSeconds: unknown;
  readonly causes: readonly ErrorCause[];
}

function readStatus(body: unknown): Status {
  const { reason, message, details } = asFields(body);
  const { retryAfterSeconds, causes } = asFields(details);
  return { reason: text(reason), message: text(message), retryAfterSeconds, causes: readCauses(causes) };
}

function readCauses(causes: unknown): readonly ErrorCause[] {
  if (!Array.isArray(causes)) return [];
  return causes.slice(0, MAX_CAUSES).map((cause: unknown) => {
    const { reason, message, field } = asFields(cause);
    return { reason: text(reason), message: text(message), field: text(field) };
  });
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, MAX_MESSAGE) : '';
}

function asFields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
