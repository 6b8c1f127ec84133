import { RPC_CODES } from '../../lib/rpc-code.ts';

/**
 * The HTTP status of a google.rpc.Code, as google/rpc/code.proto has them; of those that Envoy has names for, so that a cancelled request is
 * 408 and not 499.
 */
const HTTP_STATUS: ReadonlyMap<number, number> = new Map([
  [RPC_CODES.OK, 200],
  [RPC_CODES.CANCELLED, 408],
  [RPC_CODES.UNKNOWN, 500],
  [RPC_CODES.INVALID_ARGUMENT, 400],
  [RPC_CODES.DEADLINE_EXCEEDED, 504],
  [RPC_CODES.NOT_FOUND, 404],
  [RPC_CODES.ALREADY_EXISTS, 409],
  [RPC_CODES.PERMISSION_DENIED, 403],
  [RPC_CODES.RESOURCE_EXHAUSTED, 429],
  [RPC_CODES.FAILED_PRECONDITION, 400],
  [RPC_CODES.ABORTED, 409],
  [RPC_CODES.OUT_OF_RANGE, 400],
  [RPC_CODES.UNIMPLEMENTED, 501],
  [RPC_CODES.INTERNAL, 500],
  [RPC_CODES.UNAVAILABLE, 503],
  [RPC_CODES.DATA_LOSS, 500],
  [RPC_CODES.UNAUTHENTICATED, 401],
]);

export function httpStatusOf(code: number): number {
  return HTTP_STATUS.get(code) ?? 500;
}
