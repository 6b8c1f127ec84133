/** The health service, https://github.com/grpc/grpc/blob/master/doc/health-checking.md */
import { HealthCheckRequest, HealthCheckResponse, HealthCheckResponse_ServingStatus } from '#gen/grpc/health/v1/health.ts';
import { MeshError } from '../../lib/errors.ts';
import { type CallContext, type Method, type ServerStream, unary } from './types.ts';

export type Health = 'serving' | 'not_serving';

export interface HealthService {
  readonly methods: readonly Method[];
  /** Sets what is told of a service; the empty name is the server as a whole, which starts as `not_serving`. */
  set(service: string, health: Health): void;
}

const STATUS = {
  serving: HealthCheckResponse_ServingStatus.SERVING,
  not_serving: HealthCheckResponse_ServingStatus.NOT_SERVING,
} as const;

export function createHealthService(): HealthService {
  const states = new Map<string, Health>([['', 'not_serving']]);
  const changes = new EventTarget();

  async function check({ service }: HealthCheckRequest): Promise<HealthCheckResponse> {
    const health = states.get(service);
    if (health === undefined) throw new MeshError('not_found', `there is no service "${service.slice(0, 200)}" here`);
    return { status: STATUS[health] };
  }

  async function watch(stream: ServerStream, context: CallContext): Promise<void> {
    const service = await watchedService(stream);
    let told: HealthCheckResponse_ServingStatus | undefined;
    while (!context.signal.aborted) {
      const changed = nextChange(changes, context.signal);
      const health = states.get(service);
      const status = health === undefined ? HealthCheckResponse_ServingStatus.SERVICE_UNKNOWN : STATUS[health];
      if (status !== told) await stream.write([HealthCheckResponse.encode({ status }).finish()]);
      told = status;
      await changed;
    }
  }

  return {
    methods: [
      unary('/grpc.health.v1.Health/Check', HealthCheckRequest, HealthCheckResponse, check),
      { type: 'stream', path: '/grpc.health.v1.Health/Watch', handle: watch },
    ],
    set(service, health) {
      states.set(service, health);
      changes.dispatchEvent(new Event('change'));
    },
  };
}

async function watchedService(stream: ServerStream): Promise<string> {
  for await (const bytes of stream.requests) {
    try {
      return HealthCheckRequest.decode(bytes).service;
    } catch (thrown) {
      throw new MeshError('invalid', 'the request message cannot be decoded', thrown);
    }
  }
  throw new MeshError('invalid', 'the request holds no message');
}

function nextChange(changes: EventTarget, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      changes.removeEventListener('change', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    changes.addEventListener('change', done);
    signal.addEventListener('abort', done);
  });
}
