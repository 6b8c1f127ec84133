import type { HandlerContext, Method } from '../../io/grpc/types.ts';
import { MeshError } from '../../lib/errors.ts';
import type { MixsMetrics } from '../metrics.ts';

/** Unary methods that tell the metrics of every request. */
export function measured(methods: readonly Method[], metrics: MixsMetrics): readonly Method[] {
  return methods.map((method) => {
    if (method.type !== 'unary') return method;
    const name = method.path.slice(method.path.lastIndexOf('/') + 1);
    return {
      ...method,
      handle: async (request: Uint8Array, context: HandlerContext) => {
        const begin = performance.now();
        try {
          const answer = await method.handle(request, context);
          metrics.requested(name, 'ok', performance.now() - begin);
          return answer;
        } catch (thrown) {
          metrics.requested(name, MeshError.from(thrown).code, performance.now() - begin);
          throw thrown;
        }
      },
    };
  });
}
