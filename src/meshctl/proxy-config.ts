import type { Invocation } from '../flags/table.ts';
import type { Host } from '../io/host.ts';
import { MeshError } from '../lib/errors.ts';
import { suggestion } from '../lib/nearest.ts';
import { CONFIGURATION_TYPES, type ConfigurationType } from '../proxy-dump/configuration-types.ts';
import { printViews } from '../proxy-dump/print.ts';
import { withoutSecrets } from '../proxy-dump/redact.ts';
import { type View, viewsOf } from '../proxy-dump/views.ts';
import { askAll } from './discovery/ask-all.ts';
import { withReplicas } from './discovery/open-replicas.ts';
import { readSyncStatus } from './discovery/sync-status.ts';
import { findPod, parseTarget } from './find-pod.ts';
import { discoverySource } from './proxy-config/discovery-dump.ts';
import type { proxyConfigFlags } from './proxy-config/flags.ts';
import { type PodName, wayIn } from './proxy-config/way-in.ts';
import { runProgram } from './reach/run-program.ts';
import { warn } from './session.ts';

/** What pilot-discovery sends; the rest is known to the proxy alone. */
const SENT: readonly ConfigurationType[] = ['clusters', 'endpoints', 'listeners', 'routes'];

/**
 * `meshctl proxy-config TYPE POD`: what `pilot-agent debug` prints in the pod, run there; where nobody can get in, what pilot-discovery
 * sends to the proxy.
 */
export async function runProxyConfig({ options, args }: Invocation<typeof proxyConfigFlags>, host: Host): Promise<number> {
  const [word = '', pod = ''] = args;
  const type = requireType(word);
  const target = parseTarget(pod, options.namespace);
  const { source, output } = options;
  const refused = source === 'discovery' ? undefined : await tryProxy(type, target, options, host);
  if (refused === 'printed') return 0;
  if (refused !== undefined) {
    if (source === 'proxy') throw refused;
    if (!SENT.includes(type) && type !== 'all') throw onlyTheProxy(type, refused.message);
    warn(host, `the proxy itself cannot be asked: ${refused.message}`);
  }
  if (source === 'discovery' && !SENT.includes(type) && type !== 'all') throw onlyTheProxy(type, '--source says not to ask it');
  host.stdout.write(printViews(await viewsSent(type, target, options, host), output));
  return 0;
}

function requireType(word: string): ConfigurationType {
  const type = CONFIGURATION_TYPES.find((each) => each === word);
  if (type !== undefined) return type;
  throw new MeshError(
    'usage',
    `"${word}" is not one of ${CONFIGURATION_TYPES.join(', ')}${suggestion(word, CONFIGURATION_TYPES)}`,
  );
}

type Options = Invocation<typeof proxyConfigFlags>['options'];

/** Prints what the proxy says, or gives what kept it from being asked. */
async function tryProxy(
  type: ConfigurationType,
  target: PodName,
  { orchconfig, output }: Options,
  host: Host,
): Promise<'printed' | MeshError> {
  const way = await wayIn(target, orchconfig, host);
  if ('reason' in way) return new MeshError('unavailable', way.reason);
  try {
    host.stdout.write(await runProgram(way.program, ['mesh', 'pilot-agent', 'debug', type, '-o', output], host.signal));
    return 'printed';
  } catch (thrown) {
    const error = MeshError.from(thrown);
    if (error.code === 'cancelled') throw error;
    return error;
  }
}

function onlyTheProxy(type: ConfigurationType, reason: string): MeshError {
  return new MeshError('unavailable', `only the proxy itself knows its ${type}, and it cannot be asked: ${reason}`);
}

async function viewsSent(type: ConfigurationType, target: PodName, options: Options, host: Host): Promise<readonly View[]> {
  const { orchconfig, address: addresses, meshNamespace: namespace } = options;
  return withReplicas({ orchconfig, addresses, namespace }, host, async (replicas) => {
    const answers = await askAll(replicas, '/debug/syncz', (message) => warn(host, message));
    const proxies = answers.flatMap(({ replica, page }) =>
      readSyncStatus(page, replica.name).map((proxy) => ({ ...proxy, replica })),
    );
    const proxy = findPod(proxies, target);
    if (proxy === undefined) {
      const connected = proxies.map(({ name, namespace: other }) => `${name}.${other}`);
      const word = `${target.name}.${target.namespace}`;
      throw new MeshError('not_found', `no proxy of ${word} is connected to pilot-discovery${suggestion(word, connected)}`);
    }
    const page = withoutSecrets(await proxy.replica.get('/debug/config_dump', { proxyID: proxy.id }));
    warn(
      host,
      `this is what ${proxy.pilot} sends to ${proxy.name}.${proxy.namespace}; meshctl proxy-status tells whether it was taken`,
    );
    const source = discoverySource(page);
    const types = type === 'all' ? SENT : [type];
    const views: View[] = [];
    for (const each of types) views.push(...(await viewsOf(each, source, host.now())));
    return views;
  });
}
