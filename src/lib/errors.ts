/**
 * The one error type of the project. The code says what kind of failure it is (the names of gRPC's status codes, in lower
 * case), the message tells a person what happened, where, and what to do: lower case, without a final period.
 */
export type ErrorCode =
  | 'invalid'
  | 'not_found'
  | 'already_exists'
  | 'conflict'
  | 'permission_denied'
  | 'unauthenticated'
  | 'unavailable'
  | 'deadline_exceeded'
  | 'resource_exhausted'
  | 'failed_precondition'
  | 'unimplemented'
  | 'cancelled'
  | 'usage'
  | 'internal';

export class MeshError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'MeshError';
    this.code = code;
  }

  /** Total: whatever was thrown becomes a MeshError; one that is already stays itself. */
  static from(thrown: unknown, code: ErrorCode = 'internal'): MeshError {
    if (thrown instanceof MeshError) return thrown;
    if (thrown instanceof Error) return new MeshError(code, thrown.message, thrown);
    return new MeshError(code, String(thrown), thrown);
  }
}

/** Something wrong at one place of a document or of the command line. */
export interface Problem {
  /** Where: a JSON path such as `spec.peers[0].mtls.mode`; empty for the whole. */
  readonly path: string;
  readonly message: string;
  readonly file?: string;
  /** 1-based. */
  readonly line?: number;
  /** Only that what it names is not in force: it may come still, so that nobody has to write things in an order. */
  readonly dangling?: true;
}

/** A value, or every problem that kept it from being one. */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problems: readonly Problem[] };

/** `file:line: path: message`, leaving out what is unknown. */
export function formatProblem(problem: Problem): string {
  const place = [problem.file, problem.line].filter((part) => part !== undefined).join(':');
  return [place, problem.path, problem.message].filter((part) => part !== '').join(': ');
}
