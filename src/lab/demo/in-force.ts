import { isRecord } from '../kubelet/fields.ts';

/** What a page of pilot-discovery must show before a change counts as in force. */
export interface Wanted {
  /** `Policy foo/default` -> its resourceVersion; undefined: it must be gone. */
  readonly objects: ReadonlyMap<string, string | undefined>;
  /** `authPolicy` of the mesh configuration; undefined: unchanged. */
  readonly authPolicy: string | undefined;
}

/** Sequence of the snapshot of /debug/snapshotz if it has all that is wanted. */
export function sequenceWith(page: unknown, { objects, authPolicy }: Wanted): number | undefined {
  if (!isRecord(page) || !isRecord(page['objects']) || typeof page['sequence'] !== 'number') return undefined;
  const found = page['objects'];
  const mesh = isRecord(page['mesh']) ? page['mesh'] : {};
  if (authPolicy !== undefined && mesh['authPolicy'] !== authPolicy) return undefined;
  return [...objects].every(([name, version]) => isReached(found[name], version)) ? page['sequence'] : undefined;
}

/**
 * Versions of an API server are numbers that grow (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions); a
 * later one has a status that was written since.
 */
function isReached(found: unknown, wanted: string | undefined): boolean {
  if (found === wanted) return true;
  if (typeof found !== 'string' || wanted === undefined) return false;
  return NUMBER.test(found) && NUMBER.test(wanted) && BigInt(found) > BigInt(wanted);
}

const NUMBER = /^\d{1,20}$/;

/** Of the proxies named (`sleep-1.foo`), those that /debug/syncz does not show to have acknowledged the snapshot. */
export function proxiesBehind(page: unknown, proxies: readonly string[], sequence: number): readonly string[] {
  const entries = Array.isArray(page) ? page.filter(isRecord) : [];
  const reached = new Map(entries.map((entry) => [`${entry['proxy']}`.split('~')[2], Number(entry['sequence'])]));
  return proxies.filter((proxy) => !((reached.get(proxy) ?? -1) >= sequence));
}

/** Filter of Envoy's /stats for what `servesOldConfiguration` reads. */
export const LISTENER_STATS_FILTER = '^listener_manager\\.total_(filter_chains_draining|listeners_draining|listeners_warming)$';

/** Whether a proxy still has listeners or filter chains of an earlier configuration, by Envoy's /stats. */
export function servesOldConfiguration(stats: string): boolean {
  const values = stats.split('\n').flatMap((line) => /: (\d+)$/.exec(line)?.[1] ?? []);
  return values.length < 3 || values.some((value) => value !== '0');
}
