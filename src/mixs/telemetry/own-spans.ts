/** Spans of mixs itself: one for each request, with one for each call of a handler below it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { HandlerContext, Method } from '../../io/grpc/types.ts';
import type { DispatchMeter } from '../dispatch/handler-call.ts';
import type { Span } from './span.ts';
import { traceContextOf } from './trace-context.ts';

const LOCAL = { name: 'mixs', address: undefined };

export interface OwnSpansOptions {
  readonly record: (span: Span) => void;
  /** Milliseconds since 1970, with their fraction. */
  readonly now: () => number;
  /** As many random hexadecimal digits. */
  readonly newId: (digits: number) => string;
}

interface Request {
  readonly traceId: string;
  readonly spanId: string;
}

/** Follows requests of unary methods to the calls of handlers that they make. A request that its caller does not trace costs no span. */
export class OwnSpans {
  readonly #options: OwnSpansOptions;
  readonly #current = new AsyncLocalStorage<Request>();

  constructor(options: OwnSpansOptions) {
    this.#options = options;
  }

  /** The methods, with a span for each call that is sampled: those that the caller records, and those of callers who do not say. */
  methods(methods: readonly Method[]): readonly Method[] {
    return methods.map((method) => {
      if (method.type !== 'unary') return method;
      const name = method.path.slice(1);
      return {
        ...method,
        handle: (request: Uint8Array, context: HandlerContext) =>
          this.#serve(name, () => method.handle(request, context), context),
      };
    });
  }

  async #serve(name: string, handle: () => Promise<Uint8Array>, { metadata }: HandlerContext): Promise<Uint8Array> {
    const { sampling, parent } = traceContextOf(metadata);
    if (sampling === 'no') return handle();
    const { newId, now, record } = this.#options;
    const request = { traceId: parent?.traceId ?? newId(32), spanId: newId(16) };
    const begin = now();
    const ended = (failed: boolean): void => {
      const times = { start: nanosOf(begin), end: nanosOf(Math.max(begin, now())) };
      record({
        ...request,
        parentSpanId: parent?.spanId,
        name,
        kind: 'server',
        ...times,
        tags: {},
        failed,
        local: LOCAL,
        remote: undefined,
      });
    };
    try {
      const answer = await this.#current.run(request, handle);
      ended(false);
      return answer;
    } catch (thrown) {
      ended(true);
      throw thrown;
    }
  }

  /** The meter, with a span for each call of a handler that it is told of. */
  meter(meter: DispatchMeter): DispatchMeter {
    return {
      skipped: (instance, reason) => meter.skipped(instance, reason),
      called: (handler, adapter, template, outcome, milliseconds) => {
        meter.called(handler, adapter, template, outcome, milliseconds);
        const request = this.#current.getStore();
        if (request === undefined) return;
        const { newId, now, record } = this.#options;
        const end = now();
        const texts = { adapter, template, outcome };
        record({
          traceId: request.traceId,
          spanId: newId(16),
          parentSpanId: request.spanId,
          name: handler,
          kind: 'internal',
          start: nanosOf(end - milliseconds),
          end: nanosOf(end),
          tags: Object.fromEntries(Object.entries(texts).map(([key, value]) => [key, { type: 'STRING', value }])),
          failed: outcome !== 'ok',
          local: LOCAL,
          remote: undefined,
        });
      },
    };
  }
}

/** To the microsecond, which is what is left in a number of such size. */
const nanosOf = (milliseconds: number): bigint => BigInt(Math.round(milliseconds * 1000)) * 1000n;
