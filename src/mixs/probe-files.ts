import { HealthCheckRequest, HealthCheckResponse, HealthCheckResponse_ServingStatus } from '#gen/grpc/health/v1/health.ts';
import { unaryCall } from '../io/grpc/client.ts';
import type { Logger } from '../io/log/logger.ts';
import { keepLivenessFile } from '../io/probe/liveness-file.ts';
import { type Duration, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';

export interface ProbeFileOptions {
  readonly livenessProbePath: string;
  readonly livenessProbeInterval: Duration;
  readonly readinessProbePath: string;
  readonly readinessProbeInterval: Duration;
}

const CHECK_INTERVAL = seconds(10);
const CHECK_DEADLINE = seconds(5);

/**
 * Told before anything listens.
 *
 * @throws MeshError `usage` for a path without an interval, or an interval without a path
 */
export function checkProbeFiles(options: ProbeFileOptions): void {
  for (const { name, path, interval } of probeFiles(options)) {
    if ((path === '') !== (interval === 0)) {
      throw new MeshError('usage', `--${name}ProbePath and --${name}ProbeInterval belong together: give both`);
    }
    if (interval < 0) throw new MeshError('usage', `--${name}ProbeInterval: must not be below 0s`);
  }
}

function probeFiles(options: ProbeFileOptions) {
  return [
    { name: 'liveness', path: options.livenessProbePath, interval: options.livenessProbeInterval },
    { name: 'readiness', path: options.readinessProbePath, interval: options.readinessProbeInterval },
  ];
}

/**
 * The files that say that the server answers its own port: both begin once it serves, and are fresh as long as it does. One without path
 * is not kept.
 *
 * @throws as checkProbeFiles
 */
export function keepProbeFiles(
  options: ProbeFileOptions,
  port: number,
  logger: Logger,
  signal: AbortSignal,
): readonly Promise<void>[] {
  checkProbeFiles(options);
  const check = (): Promise<void> => checkHealth(port, signal);
  return probeFiles(options).flatMap(({ path, interval }) => {
    if (path === '') return [];
    return [keepLivenessFile({ path, interval, checkInterval: CHECK_INTERVAL, title: 'the mixs server', check, logger, signal })];
  });
}

async function checkHealth(port: number, signal: AbortSignal): Promise<void> {
  const { status } = await unaryCall({
    address: `127.0.0.1:${port}`,
    path: '/grpc.health.v1.Health/Check',
    request: HealthCheckRequest.create(),
    requestCodec: HealthCheckRequest,
    responseCodec: HealthCheckResponse,
    deadline: CHECK_DEADLINE,
    signal,
  });
  if (status !== HealthCheckResponse_ServingStatus.SERVING)
    throw new MeshError('unavailable', 'its own port does not answer as serving');
}
