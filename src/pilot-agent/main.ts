import { readFile } from 'node:fs/promises';
import { printError } from '../flags/command.ts';
import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import { DEFAULT_SCOPE } from '../io/log/levels.ts';
import type { Logger } from '../io/log/logger.ts';
import { withLogOnDemand } from '../io/log/on-demand.ts';
import { createLogging } from '../io/log/winston.ts';
import { formatProblem, MeshError } from '../lib/errors.ts';
import { suggestion } from '../lib/nearest.ts';
import { buildInfo } from '../lib/version.ts';
import { printViews } from '../proxy-dump/print.ts';
import { viewsOf } from '../proxy-dump/views.ts';
import { adminAt } from './admin.ts';
import { runAgent } from './agent.ts';
import { systemClock } from './clock.ts';
import { resolveProxyConfig } from './config.ts';
import { CONFIGURATION_TYPES, type DebugFlags, type ProxyFlags } from './flags.ts';
import { parsePodLabels } from './pod-info.ts';

/** Where the sidecar has the pod's labels, from the downward API. */
const LABELS_FILE = '/etc/mesh/pod/labels';

/**
 * `pilot-agent proxy`: runs the proxy of a workload until the host's signal aborts.
 * The exit code is the proxy's own when it refuses its configuration or ends again and again.
 * @throws MeshError `usage` for flags or environment that make no sense, others for a proxy that cannot be started
 */
export async function runProxy(invocation: Invocation<ProxyFlags>, host: Host): Promise<number> {
  const labels = await readLabels(host.env['POD_LABELS_FILE'] ?? LABELS_FILE);
  const config = resolveProxyConfig(invocation.options, host.env, labels, buildInfo.version);
  if (!config.ok) throw new MeshError('usage', config.problems.map(formatProblem).join('; '));
  const logging = await createLogging(invocation.options, host);
  try {
    const logger = logging.scope('default');
    const { scopes } = logging;
    const deps = { clock: systemClock(host.now), random: Math.random, logger, scopes, stdout: host.stdout, stderr: host.stderr };
    const end = await runAgent(config.value, deps, host.signal);
    if (end.kind === 'stopped') return 0;
    printError(host, end.error.message);
    return end.exitCode;
  } finally {
    await logging.close();
  }
}

/**
 * `pilot-agent debug <configuration-type>`: prints a part of the configuration of the proxy in this network namespace.
 * @throws MeshError `usage` for a type that there is not, `unavailable` when no proxy answers
 */
export async function runDebug(invocation: Invocation<DebugFlags>, host: Host): Promise<number> {
  return withLogOnDemand(invocation, host, [DEFAULT_SCOPE], (logger) => printConfiguration(invocation, host, logger));
}

async function printConfiguration({ args, options }: Invocation<DebugFlags>, host: Host, logger: Logger): Promise<number> {
  const [given = ''] = args;
  const type = CONFIGURATION_TYPES.find((each) => each === given);
  if (type === undefined)
    throw new MeshError(
      'usage',
      `"${given}" is not one of ${CONFIGURATION_TYPES.join(', ')}${suggestion(given, CONFIGURATION_TYPES)}`,
    );
  const views = await viewsOf(type, adminAt(options.proxyAdminPort), host.now()).catch((thrown: unknown) => {
    const { code, message } = MeshError.from(thrown);
    const hint = 'is a proxy running in this network namespace? --proxyAdminPort names another port';
    throw code === 'unavailable' ? new MeshError(code, `${message}; ${hint}`, thrown) : thrown;
  });
  logger.debug('asked the proxy', { type, port: options.proxyAdminPort });
  host.stdout.write(printViews(views, options.output));
  return 0;
}

/** No file means no labels; a file that cannot be understood is an error, for policies select by labels. */
async function readLabels(file: string): Promise<Readonly<Record<string, string>>> {
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return '';
    throw new MeshError('failed_precondition', `the pod's labels cannot be read: ${cause.message}`, cause);
  });
  const labels = parsePodLabels(text);
  if (labels.ok) return labels.value;
  throw new MeshError('invalid', labels.problems.map((problem) => formatProblem({ ...problem, file })).join('; '));
}
