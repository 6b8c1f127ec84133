/** mesh_ca: opens what the flags name and serves. */
import { randomUUID } from 'node:crypto';
import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import { createLogging } from '../io/log/winston.ts';
import { seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { kindsFor } from '../model/kinds.ts';
import { type OpenedStore, openStore } from '../sources/store/open.ts';
import { createStoreProblemLog } from '../sources/store/problem-log.ts';
import { type CaConfig, resolveConfig } from './config.ts';
import type { CaFlags } from './flags.ts';
import { serve } from './serve.ts';

const RESYNC = seconds(60);

/** Runs until the host's signal; the exit code. */
export async function run(invocation: Invocation<CaFlags>, host: Host): Promise<number> {
  const config = resolveConfig(invocation, host.env, host.cwd);
  const logging = await createLogging(invocation.options, host);
  const logger = logging.scope('default');
  try {
    const store = openStore(config.storePath, {
      flag: '--orch-config',
      kinds: kindsFor(host.names),
      env: host.env,
      cwd: host.cwd,
      now: host.now,
      newUid: randomUUID,
      resync: RESYNC,
      onProblem: createStoreProblemLog(logger),
    });
    try {
      requireCluster(config, store);
      await serve(config, store, host, logger);
    } finally {
      await store.close();
    }
    return 0;
  } finally {
    await logging.close();
  }
}

/** Throws `usage` for what only an API server has. */
function requireCluster({ appendDnsNames }: CaConfig, { client }: OpenedStore): void {
  if (!appendDnsNames || client !== undefined) return;
  throw new MeshError(
    'usage',
    'flag --append-dns-names needs a Kubernetes API server: in a directory of manifests there are no secrets of service accounts',
  );
}
