import { HeaderMatcher, RetryPolicy } from '#gen/envoy/config/route/v3/route_components.ts';

/** Nothing of the request has reached an application, so that trying again cannot do anything twice. */
const UNSENT = 'connect-failure,refused-stream,reset-before-request';

/**
 * For every request. A change of policy drains the server's connections; a request that meets one at its end is sent again
 * on another.
 */
export const RETRY_UNSENT: RetryPolicy = RetryPolicy.fromPartial({ retryOn: UNSENT, numRetries: 2 });

/**
 * For requests that read only: they may be sent again even when the connection broke after they were sent, as it does when
 * the server closes a kept-alive connection at the very moment of its reuse.
 */
export const RETRY_SAFE: RetryPolicy = RetryPolicy.fromPartial({ retryOn: `${UNSENT},reset`, numRetries: 2 });

/** The safe methods of RFC 9110 section 9.2.1. */
export const SAFE_METHODS: HeaderMatcher = HeaderMatcher.fromPartial({
  name: ':method',
  headerMatchSpecifier: {
    $case: 'stringMatch',
    stringMatch: { matchPattern: { $case: 'safeRegex', safeRegex: { regex: 'GET|HEAD|OPTIONS' } } },
  },
});
