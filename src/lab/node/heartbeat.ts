import type { Logger } from '../../io/log/logger.ts';
import { type Duration, seconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import type { KubeObject } from '../../model/object.ts';
import type { NodeApi } from './node-api.ts';
import { isNodeReady, nodeObject, nodeStatus } from './node-object.ts';

/** As the kubelet's: a lease for forty seconds, renewed after a quarter of them. */
const LEASE: Duration = seconds(40);
const EVERY: Duration = seconds(10);
const RETRY: Duration = seconds(1);

export interface HeartbeatOptions {
  readonly api: Pick<NodeApi, 'node' | 'createNode' | 'patchNode' | 'reportNode' | 'renewLease'>;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Where the node serves a kubelet's API; absent: nowhere. */
  readonly kubeletPort?: number;
  readonly now: () => Date;
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Makes the node known to its cluster, as ready. Throws what the API server says. */
export async function register({ api, name, labels, kubeletPort, now }: HeartbeatOptions): Promise<void> {
  const known = await api.node(name);
  const node = known ?? (await api.createNode(nodeObject(name, labels)));
  if (known !== undefined) await api.patchNode(name, { labels });
  await beat({ api, name, now, ...(kubeletPort === undefined ? {} : { kubeletPort }) }, node, true);
}

/** Shows again and again that the node is alive, and registers it anew when somebody has removed it; until the signal is aborted. */
export async function keepAlive(options: HeartbeatOptions): Promise<void> {
  const { api, name, sleep, logger, signal } = options;
  let wait = EVERY;
  for (;;) {
    await sleep(wait, signal).catch(() => {});
    if (signal.aborted) return;
    try {
      const node = await api.node(name);
      if (node === undefined) await register(options);
      // After a silence the cluster says itself that the node is not ready, until the node contradicts.
      else await beat(options, node, !isNodeReady(node));
      wait = EVERY;
    } catch (error) {
      logger.warn('the node cannot show that it is alive', { node: name, error: MeshError.from(error).message });
      wait = RETRY;
    }
  }
}

async function beat(
  { api, name, kubeletPort, now }: Pick<HeartbeatOptions, 'api' | 'name' | 'kubeletPort' | 'now'>,
  node: KubeObject,
  withStatus: boolean,
): Promise<void> {
  await api.renewLease(node, LEASE, now());
  if (withStatus) await api.reportNode(name, nodeStatus(name, now(), kubeletPort));
}
