import type { Method } from '../../io/grpc/types.ts';
import { accessLogMethods } from './access-log.ts';
import type { ApiOptions } from './api-options.ts';
import { authorizationMethods } from './ext-authz.ts';
import { rateLimitMethods } from './rate-limit.ts';

/** The services that today's Envoy asks and tells. */
export function envoyMethods(options: ApiOptions): readonly Method[] {
  return [...authorizationMethods(options), ...accessLogMethods(options), ...rateLimitMethods(options)];
}
