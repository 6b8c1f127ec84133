/** Why there is no answer at all, in words. */

/** The server closed a kept connection just when a request was sent on it. */
export class StaleConnection extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}

/** Certificates that no chain of the configuration vouches for. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_GET_ISSUER_CERT',
  'CERT_SIGNATURE_FAILURE',
]);

/** Continues `the API server at ...`. */
export function describeFailure(thrown: unknown): string {
  // The errors of all addresses that were tried hide in the first.
  const stale = thrown instanceof StaleConnection ? thrown.cause : thrown;
  const first = stale instanceof AggregateError && stale.errors.length > 0 ? stale.errors[0] : stale;
  const error = first instanceof Error ? first : new Error(String(first));
  const code = 'code' in error ? String(error.code) : '';
  if (UNTRUSTED.has(code) || code.startsWith('CERT_') || code.startsWith('ERR_TLS_')) {
    return `is not trusted: ${error.message}; its certificate authority belongs into the configuration`;
  }
  if (code === 'ECONNRESET' || code === 'EPIPE') return `broke off the connection: ${error.message}`;
  return `cannot be reached: ${error.message}`;
}
