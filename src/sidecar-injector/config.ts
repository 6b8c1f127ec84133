/** What is left of sidecar-injector's flags once defaults and fallbacks are resolved. */
import { resolve } from 'node:path';
import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import type { Duration } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import type { InjectorFlags } from './flags.ts';

export interface InjectorConfig {
  readonly injectConfigFile: string;
  readonly meshConfigFile: string;
  readonly port: number;
  readonly certificate: { readonly certFile: string; readonly keyFile: string };
  readonly webhook: {
    readonly caFile: string;
    readonly configuration: string;
    readonly entry: string;
    readonly storePath: string;
  };
  /** Undefined: no health file. */
  readonly health: { readonly path: string; readonly interval: Duration } | undefined;
}

/** Throws a MeshError `usage` that names the flag. */
export function resolveConfig({ options, given }: Invocation<InjectorFlags>, host: Pick<Host, 'cwd' | 'names'>): InjectorConfig {
  const file = (path: string): string => resolve(host.cwd, path);
  return {
    injectConfigFile: file(options.injectConfig),
    meshConfigFile: file(options.meshConfig),
    port: options.port,
    certificate: { certFile: file(options.tlsCertFile), keyFile: file(options.tlsKeyFile) },
    webhook: {
      caFile: file(options.caCertFile),
      configuration: options.webhookConfigName,
      entry: given.has('webhookName') ? options.webhookName : host.names.webhookName,
      storePath: options.orchconfig,
    },
    health: healthFile(options, file),
  };
}

function healthFile(options: Invocation<InjectorFlags>['options'], file: (path: string) => string): InjectorConfig['health'] {
  const { healthCheckFile: path, healthCheckInterval: interval } = options;
  if (path === '' && interval === 0) return undefined;
  if (path === '') throw new MeshError('usage', 'flag --healthCheckInterval needs --healthCheckFile beside it');
  if (interval <= 0) throw new MeshError('usage', 'flag --healthCheckFile needs --healthCheckInterval above 0s beside it');
  return { path: file(path), interval };
}
