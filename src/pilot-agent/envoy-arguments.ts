import type { ProxyConfig } from './config.ts';

/**
 * The proxy's command line. Certificates rotate over SDS and configuration over ADS, so a second epoch never runs: without
 * hot restart, proxies that share a machine do not meet in shared memory, and a killed one leaves nothing there.
 */
export function envoyArguments(config: ProxyConfig): readonly string[] {
  return [
    '--config-path',
    config.bootstrapFile,
    '--restart-epoch',
    '0',
    '--disable-hot-restart',
    '--drain-time-s',
    wholeSeconds(config.drainDuration),
    '--drain-strategy',
    'immediate',
    '--parent-shutdown-time-s',
    wholeSeconds(config.parentShutdownDuration),
    '--service-cluster',
    config.node.cluster,
    '--service-node',
    config.node.id,
    '--log-level',
    LOG_LEVELS[config.logLevel] ?? config.logLevel,
    ...(config.concurrency > 0 ? ['--concurrency', String(config.concurrency)] : []),
  ];
}

/** What Envoy calls differently. */
const LOG_LEVELS: Readonly<Record<string, string>> = { warn: 'warning', err: 'error' };

/** Envoy takes whole seconds, and at least one. */
const wholeSeconds = (ms: number): string => String(Math.max(1, Math.ceil(ms / 1000)));
