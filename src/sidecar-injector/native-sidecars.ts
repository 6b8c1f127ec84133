/** Whether the cluster runs native sidecars: init containers with `restartPolicy: Always`. */
import type { KubernetesClient } from '../io/kubernetes/client.ts';
import type { Logger } from '../io/log/logger.ts';
import { type Backoff, jittered } from '../lib/backoff.ts';
import { type Duration, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { isMapping } from '../model/parse/object.ts';

/**
 * Nodes have them from 1.29 on unless somebody has switched that off, and may be three minor versions older than their API server
 * (https://kubernetes.io/releases/version-skew-policy/).
 */
const FIRST_MINOR = 32;
const DEADLINE = seconds(5);
const RETRY: Backoff = { first: seconds(1), longest: seconds(60) };

export interface NativeSidecarsOptions {
  /** Undefined where there is no API server. */
  readonly client: Pick<KubernetesClient, 'request'> | undefined;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Resolves after the time, rejects when the signal is aborted. */
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
  readonly random: () => number;
}

/**
 * Asks the API server for its version (`GET /version`), which everybody may. Resolves after the first answer or failure; after a failure
 * it goes on asking. Until there is an answer the cluster counts as one without.
 */
export async function followNativeSidecars(options: NativeSidecarsOptions): Promise<() => boolean> {
  const { client, logger, signal, sleep, random } = options;
  let known = false;
  if (client === undefined) return () => known;
  const ask = async (): Promise<boolean> => {
    try {
      const answer = await client.request({
        method: 'GET',
        path: '/version',
        what: 'ask for the version',
        deadline: DEADLINE,
        signal,
      });
      known = hasNativeSidecars(answer);
      return true;
    } catch (thrown) {
      const { message } = MeshError.from(thrown);
      if (!signal.aborted) logger.warn('whether the cluster has native sidecars is not known', { reason: message });
      return false;
    }
  };
  const askUntilAnswered = async (): Promise<void> => {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      await sleep(jittered(RETRY, attempt, random), signal);
      if (await ask()) return;
    }
  };
  // The only failure left is the end, which ends the waiting.
  if (!(await ask())) askUntilAnswered().catch(() => undefined);
  return () => known;
}

/** Of what `/version` answers; false for what is none. Providers append to the minor version: `32+`. */
export function hasNativeSidecars(version: unknown): boolean {
  if (!isMapping(version)) return false;
  const [major, minor] = [version.major, version.minor].map((text) =>
    typeof text === 'string' ? Number.parseInt(text, 10) : Number.NaN,
  );
  return major !== undefined && minor !== undefined && (major > 1 || (major === 1 && minor >= FIRST_MINOR));
}
