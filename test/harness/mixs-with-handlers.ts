/** The interfaces of mixs over handlers that a test makes: for those that throw, hang or are slow. */

import { createGrpcServer } from '../../src/io/grpc/server.ts';
import type { GrpcServer } from '../../src/io/grpc/types.ts';
import { milliseconds } from '../../src/lib/duration.ts';
import type { Handler } from '../../src/mixs/adapter/adapter.ts';
import { envoyMethods } from '../../src/mixs/api/envoy.ts';
import { measured } from '../../src/mixs/api/measured.ts';
import { mixerMethods } from '../../src/mixs/api/mixer.ts';
import { createDispatcher } from '../../src/mixs/dispatch/dispatch.ts';
import { createMixsMetrics, type MixsMetrics } from '../../src/mixs/metrics.ts';
import { WorkerPool } from '../../src/mixs/worker-pool.ts';
import { compileConfiguration } from '../../src/rules/config/compile.ts';
import { MemoryLogger } from '../fakes/memory-logger.ts';
import { ruleObject } from '../fakes/rule-objects.ts';

export interface Bounds {
  readonly apiWorkers?: number;
  readonly adapterWorkers?: number;
  readonly streams?: number;
  readonly handlerLimitMs?: number;
  readonly singleThreaded?: boolean;
  readonly maxMessageSize?: number;
}

export interface MixsWithHandlers {
  readonly port: number;
  readonly server: GrpcServer;
  readonly metrics: MixsMetrics;
}

/** Each handler checks, counts (the quota `count`) and takes reports of the requests whose `source.namespace` is its name, and all those from `everywhere`. */
export async function mixsWithHandlers(
  handlers: Readonly<Record<string, Partial<Handler>>>,
  {
    apiWorkers = 1_000,
    adapterWorkers = 1_000,
    streams = 1_000,
    handlerLimitMs = 5_000,
    singleThreaded = false,
    maxMessageSize = 1_048_576,
  }: Bounds = {},
): Promise<MixsWithHandlers> {
  const names = Object.keys(handlers);
  const configuration = compileConfiguration([
    ruleObject('checknothing', 'nothing'),
    ruleObject('metric', 'size', { value: 'request.size | 0' }),
    ruleObject('quota', 'count'),
    ...names.map((name) => ruleObject('noop', name)),
    ...names.map((name) =>
      ruleObject('rule', name, {
        match: `source.namespace == "${name}" || source.namespace == "everywhere"`,
        actions: [{ handler: `${name}.noop`, instances: ['nothing.checknothing', 'size.metric', 'count.quota'] }],
      }),
    ),
  ]);
  if (configuration.problems.length > 0) throw new Error(configuration.problems.map(({ message }) => message).join('\n'));
  const pool = new WorkerPool(apiWorkers);
  const metrics = createMixsMetrics('test', () => pool);
  const open = names.map((name): [string, Handler] => [`${name}.noop.mesh-system`, { close: async () => {}, ...handlers[name] }]);
  const dispatcher = createDispatcher(configuration, new Map(open), {
    defaultNamespace: 'mesh-system',
    meter: metrics,
    pool: new WorkerPool(adapterWorkers),
    elapsed: () => performance.now(),
    singleThreaded,
    handlerLimit: milliseconds(handlerLimitMs),
  });
  const { vocabulary, charges } = configuration;
  const api = {
    pool,
    inForce: () => ({ dispatcher, vocabulary, charges }),
    unknownAttribute: () => {},
    malformed: (method: string) => metrics.requested(method, 'malformed', 0),
  };
  const methods = [...mixerMethods(api), ...envoyMethods(api)];
  const server = createGrpcServer(
    { methods: measured(methods, metrics), maxConcurrentStreams: streams, maxMessageSize },
    new MemoryLogger(),
  );
  await server.listen({ host: '127.0.0.1', port: 0 });
  return { port: server.port, server, metrics };
}
