import { MeshError } from '../../lib/errors.ts';
import type { DiscoveryReplica } from './replica.ts';

export interface Answer {
  readonly replica: DiscoveryReplica;
  readonly page: unknown;
}

/**
 * A page of every replica. Those that do not answer are told to `onFailure`, for the others know as much of their own proxies. Rejects
 * when none answers, with what the first says.
 */
export async function askAll(
  replicas: readonly DiscoveryReplica[],
  path: string,
  onFailure: (message: string) => void,
): Promise<readonly Answer[]> {
  const results = await Promise.allSettled(replicas.map((replica) => replica.get(path)));
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [MeshError.from(result.reason)] : []));
  const [first] = failures;
  if (first !== undefined && failures.length === replicas.length) throw first;
  for (const { message } of failures) onFailure(message);
  return results.flatMap((result, index) => {
    const replica = replicas[index];
    return result.status === 'rejected' || replica === undefined ? [] : [{ replica, page: result.value }];
  });
}
