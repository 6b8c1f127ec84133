/** google.rpc.Code by name, which are gRPC's status codes too (https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto). */
export const RPC_CODES = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

export type RpcCodeName = keyof typeof RPC_CODES;

export const RPC_CODE_NAMES: readonly string[] = Object.keys(RPC_CODES);

/** The name of a code, or its number for one that has none. */
export function rpcCodeName(code: number): string {
  return RPC_CODE_NAMES[code] ?? String(code);
}
