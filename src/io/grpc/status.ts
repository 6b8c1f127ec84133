/** gRPC status codes and how they map to the project's error codes. See https://github.com/grpc/grpc/blob/master/doc/statuscodes.md */
import { type ErrorCode, MeshError } from '../../lib/errors.ts';
import { RPC_CODES } from '../../lib/rpc-code.ts';

export const GrpcCode = RPC_CODES;

export type GrpcCode = (typeof GrpcCode)[keyof typeof GrpcCode];

/** What a call ends with on the wire. */
export interface GrpcStatus {
  readonly code: GrpcCode;
  /** For people; empty with OK. */
  readonly message: string;
  /** An encoded google.rpc.Status, for programs: travels as `grpc-status-details-bin`. */
  readonly details?: Uint8Array;
}

export const OK: GrpcStatus = { code: GrpcCode.OK, message: '' };

const CODE_OF: Readonly<Record<ErrorCode, GrpcCode>> = {
  invalid: GrpcCode.INVALID_ARGUMENT,
  not_found: GrpcCode.NOT_FOUND,
  already_exists: GrpcCode.ALREADY_EXISTS,
  conflict: GrpcCode.ABORTED,
  permission_denied: GrpcCode.PERMISSION_DENIED,
  unauthenticated: GrpcCode.UNAUTHENTICATED,
  unavailable: GrpcCode.UNAVAILABLE,
  deadline_exceeded: GrpcCode.DEADLINE_EXCEEDED,
  resource_exhausted: GrpcCode.RESOURCE_EXHAUSTED,
  failed_precondition: GrpcCode.FAILED_PRECONDITION,
  unimplemented: GrpcCode.UNIMPLEMENTED,
  cancelled: GrpcCode.CANCELLED,
  usage: GrpcCode.INVALID_ARGUMENT,
  internal: GrpcCode.INTERNAL,
};

const ERROR_OF: Readonly<Record<GrpcCode, ErrorCode>> = {
  [GrpcCode.OK]: 'internal',
  [GrpcCode.CANCELLED]: 'cancelled',
  [GrpcCode.UNKNOWN]: 'internal',
  [GrpcCode.INVALID_ARGUMENT]: 'invalid',
  [GrpcCode.DEADLINE_EXCEEDED]: 'deadline_exceeded',
  [GrpcCode.NOT_FOUND]: 'not_found',
  [GrpcCode.ALREADY_EXISTS]: 'already_exists',
  [GrpcCode.PERMISSION_DENIED]: 'permission_denied',
  [GrpcCode.RESOURCE_EXHAUSTED]: 'resource_exhausted',
  [GrpcCode.FAILED_PRECONDITION]: 'failed_precondition',
  [GrpcCode.ABORTED]: 'conflict',
  [GrpcCode.OUT_OF_RANGE]: 'invalid',
  [GrpcCode.UNIMPLEMENTED]: 'unimplemented',
  [GrpcCode.INTERNAL]: 'internal',
  [GrpcCode.UNAVAILABLE]: 'unavailable',
  [GrpcCode.DATA_LOSS]: 'internal',
  [GrpcCode.UNAUTHENTICATED]: 'unauthenticated',
};

export function grpcCodeOf(code: ErrorCode): GrpcCode {
  return CODE_OF[code];
}

/** The project's code of a status code from the wire; what is unknown, or OK where an error was expected, is `internal`. */
export function errorCodeOf(code: number): ErrorCode {
  return (ERROR_OF as Readonly<Record<number, ErrorCode | undefined>>)[code] ?? 'internal';
}

/** Thrown by a handler that ends its call with a code that no ErrorCode maps to, or with details; goes out as it is, INTERNAL too. */
export class GrpcStatusError extends MeshError {
  readonly status: GrpcStatus;

  constructor(status: GrpcStatus & { readonly code: Exclude<GrpcCode, 0> }, cause?: unknown) {
    super(errorCodeOf(status.code), status.message, cause);
    this.status = status;
  }
}

/** The status a thrown value ends a call with. An internal error's text stays here: it may tell what the caller must not know. */
export function statusOf(thrown: unknown): GrpcStatus {
  if (thrown instanceof GrpcStatusError) return thrown.status;
  const error = MeshError.from(thrown);
  return { code: grpcCodeOf(error.code), message: error.code === 'internal' ? 'internal error' : error.message };
}
