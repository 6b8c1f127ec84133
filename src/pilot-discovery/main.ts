/** pilot-discovery: turns services and policies into configuration of proxies. */
import { randomUUID } from 'node:crypto';
import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import type { Logger } from '../io/log/logger.ts';
import { createLogging } from '../io/log/winston.ts';
import { kindsFor } from '../model/kinds.ts';
import { type OpenedStore, openStore } from '../sources/store/open.ts';
import { createStoreProblemLog } from '../sources/store/problem-log.ts';
import { type DiscoveryConfig, resolveConfig } from './config.ts';
import { DISCOVERY_SCOPES, type DiscoveryFlags } from './flags.ts';
import { type Stores, serve } from './serve.ts';

/** Serves until the host's signal; gives the exit code. */
export async function run(invocation: Invocation<DiscoveryFlags>, host: Host): Promise<number> {
  const config = resolveConfig(invocation, host.env);
  const logging = await createLogging(invocation.options, host, DISCOVERY_SCOPES);
  try {
    const loggers = { main: logging.scope('default'), ads: logging.scope('ads'), scopes: logging.scopes };
    const stores = openStores(config, host, loggers.main);
    try {
      await serve({ config, stores, host, loggers });
    } finally {
      await Promise.all(new Set([stores.registry.close(), stores.config.close()]));
    }
    return 0;
  } finally {
    await logging.close();
  }
}

function openStores(config: DiscoveryConfig, host: Host, logger: Logger): Stores {
  const { env, cwd, now, names } = host;
  const open = (path: string, flag: string): OpenedStore => {
    const onProblem = createStoreProblemLog(logger);
    return openStore(path, { flag, kinds: kindsFor(names), env, cwd, now, newUid: randomUUID, resync: config.resync, onProblem });
  };
  const registry = open(config.registryPath, '--orchconfig');
  return { registry, config: config.configPath === config.registryPath ? registry : open(config.configPath, '--configDir') };
}
