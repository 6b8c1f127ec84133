import type { ProxyConfig } from './config.ts';

/** How an epoch of the proxy is told from the others that share listeners with it. */
export type Restart =
  /** Certificates rotate over SDS and configuration over xDS: without anything else to change, a second epoch never runs. */
  | { readonly kind: 'alone' }
  /** The first epoch takes an id in shared memory that no other proxy of the machine has, and writes it to a file. */
  | { readonly kind: 'first'; readonly baseIdFile: string }
  | { readonly kind: 'next'; readonly epoch: number; readonly baseId: string };

/** The proxy's command line. */
export function envoyArguments(config: ProxyConfig, bootstrapFile: string, restart: Restart): readonly string[] {
  return [
    '--config-path',
    bootstrapFile,
    ...restartArguments(restart),
    '--drain-time-s',
    wholeSeconds(config.drainDuration),
    '--drain-strategy',
    'immediate',
    '--parent-shutdown-time-s',
    wholeSeconds(config.parentShutdownDuration),
    ...nodeArguments(config),
    '--log-level',
    LOG_LEVELS[config.logLevel] ?? config.logLevel,
    ...(config.concurrency > 0 ? ['--concurrency', String(config.concurrency)] : []),
  ];
}

/** Who the proxy is, for a configuration that does not say so itself. */
export function nodeArguments({ node }: ProxyConfig): readonly string[] {
  return ['--service-cluster', node.cluster, '--service-node', node.id];
}

function restartArguments(restart: Restart): readonly string[] {
  switch (restart.kind) {
    case 'alone':
      return ['--restart-epoch', '0', '--disable-hot-restart'];
    case 'first':
      return ['--restart-epoch', '0', '--use-dynamic-base-id', '--base-id-path', restart.baseIdFile];
    case 'next':
      return ['--restart-epoch', String(restart.epoch), '--base-id', restart.baseId];
  }
}

/** What Envoy calls differently. */
const LOG_LEVELS: Readonly<Record<string, string>> = { warn: 'warning', err: 'error' };

/** Envoy takes whole seconds, and at least one. */
const wholeSeconds = (ms: number): string => String(Math.max(1, Math.ceil(ms / 1000)));
