import type { HandlerContext, Method } from '../../io/grpc/types.ts';
import { MeshError } from '../../lib/errors.ts';

const LEAST_BUDGET = 64 * 1024 * 1024;
const MESSAGES = 4;

/** Bytes of requests that may be there at once: enough for some of the greatest size that is allowed. */
export function byteBudget(maxMessageSize: number): number {
  return Math.max(LEAST_BUDGET, MESSAGES * maxMessageSize);
}

/**
 * Unary methods whose requests together hold a bounded number of bytes, whoever sends them, while they wait and are worked on: a pool counts
 * requests, and ten thousand of the greatest size would be more than there is memory. Further ones are refused as `resource_exhausted`.
 * Streams have one message at a time, and wait.
 */
export function boundedBytes(methods: readonly Method[], budget: number): readonly Method[] {
  let held = 0;
  return methods.map((method) => {
    if (method.type !== 'unary') return method;
    const handle = async (request: Uint8Array, context: HandlerContext): Promise<Uint8Array> => {
      if (held + request.length > budget) {
        throw new MeshError('resource_exhausted', `requests of ${held} bytes are worked on and wait already: try again later`);
      }
      held += request.length;
      try {
        return await method.handle(request, context);
      } finally {
        held -= request.length;
      }
    };
    return { ...method, handle };
  });
}
