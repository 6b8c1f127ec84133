import type { HandlerContext, Method, ServerStream } from '../../io/grpc/types.ts';
import { MeshError } from '../../lib/errors.ts';
import type { MixsMetrics } from '../metrics.ts';

/** Methods that tell the metrics of every request, and of every message of a stream that was worked on. */
export function measured(methods: readonly Method[], metrics: MixsMetrics): readonly Method[] {
  return methods.map((method) => {
    const name = method.path.slice(method.path.lastIndexOf('/') + 1);
    return method.type === 'unary' ? measuredUnary(method, name, metrics) : measuredStream(method, name, metrics);
  });
}

function measuredUnary(method: Extract<Method, { type: 'unary' }>, name: string, metrics: MixsMetrics): Method {
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
}

function measuredStream(method: Extract<Method, { type: 'stream' }>, name: string, metrics: MixsMetrics): Method {
  const told = (milliseconds: number): void => metrics.requested(name, 'received', milliseconds);
  return {
    ...method,
    handle: (stream: ServerStream, context: HandlerContext) => {
      const { requests } = stream;
      return method.handle({ requests: timed(requests, told), write: (chunks) => stream.write(chunks) }, context);
    },
  };
}

/** Who takes the next message is done with the one before. */
async function* timed(messages: AsyncIterable<Uint8Array>, told: (milliseconds: number) => void): AsyncGenerator<Uint8Array> {
  for await (const message of messages) {
    const begin = performance.now();
    yield message;
    told(performance.now() - begin);
  }
}
