/** What others ask of the application directly, and the sidecar's status port answers in its place: probes and statistics. */
import { type MovedHandlers, moveHandlers, restoreHandlers } from './app-probes.ts';
import { type MovedScrape, moveScrape, restoreScrape } from './app-scrape.ts';
import type { SidecarOverlay } from './overlay.ts';
import { annotationsOf, type NamedItem, type PodManifest } from './pod.ts';
import type { Settings } from './settings.ts';
import { isRecord, isRecordList } from './shape.ts';

const PROXY = 'mesh-proxy';
const PROBES_VARIABLE = 'MESH_APP_PROBES';
const SCRAPE_VARIABLE = 'MESH_APP_SCRAPE';
/** Of the agent's flag. */
const DEFAULT_STATUS_PORT = 15020;

export interface Joined {
  readonly pod: PodManifest;
  readonly lists: SidecarOverlay['lists'];
}

/** The lists where a template may put the proxy: as a container, or as a native sidecar. */
const PROXY_LISTS = ['containers', 'initContainers'] as const;

/**
 * Moves probes and scraping of the pod to the status port of the sidecar that is about to be added, and tells the sidecar what
 * they were. A template whose proxy has no status port gets none of it.
 */
export function moveToStatusPort(pod: PodManifest, lists: SidecarOverlay['lists'], settings: Settings): Joined {
  const list = PROXY_LISTS.find((each) => lists[each].some(isProxy));
  const proxy = list && lists[list].find(isProxy);
  const port = proxy === undefined ? 0 : statusPortOf(proxy);
  if (list === undefined || proxy === undefined || port === 0) return { pod, lists };
  // A native sidecar of the pod's own is asked before an ordinary container could answer for it.
  const runners = list === 'containers' ? (['containers'] as const) : PROXY_LISTS;
  const probes =
    settings.rewriteAppHTTPProbers === 'true' ? moveHandlers(pod.spec, runners, port) : { spec: pod.spec, moved: {} };
  const scrape =
    settings.mergeMetrics === 'true'
      ? moveScrape(annotationsOf(pod), port)
      : { annotations: annotationsOf(pod), moved: undefined };
  const variables = [
    ...(Object.keys(probes.moved).length === 0 ? [] : [{ name: PROBES_VARIABLE, value: plainJson(probes.moved) }]),
    ...(scrape.moved === undefined ? [] : [{ name: SCRAPE_VARIABLE, value: plainJson(scrape.moved) }]),
  ];
  const told = { ...proxy, env: [...environmentOf(proxy), ...variables] };
  return {
    pod: { ...pod, metadata: { ...pod.metadata, annotations: scrape.annotations }, spec: probes.spec },
    lists:
      variables.length === 0
        ? lists
        : { ...lists, [list]: lists[list].map((container) => (container === proxy ? told : container)) },
  };
}

/** The pod with probes and scraping as they were before `moveToStatusPort`, as far as its sidecar tells. */
export function restoreFromStatusPort(pod: PodManifest): PodManifest {
  const proxy = PROXY_LISTS.flatMap((list) => pod.spec[list] ?? []).find(isProxy);
  if (proxy === undefined) return pod;
  const probes = variableOf(proxy, PROBES_VARIABLE);
  const scrape = variableOf(proxy, SCRAPE_VARIABLE);
  const annotations = restoreScrape(annotationsOf(pod), statusPortOf(proxy), isMovedScrape(scrape) ? scrape : undefined);
  return {
    ...pod,
    metadata: { ...pod.metadata, annotations },
    spec: isMovedProbes(probes) ? restoreHandlers(pod.spec, probes) : pod.spec,
  };
}

/** In ASCII and without dollar signs: the kubelet would take `$(NAME)` for a reference to another variable. */
function plainJson(value: unknown): string {
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value).replace(/[^\x20-\x7e]|\$/g, escaped);
}

const isProxy = ({ name }: NamedItem): boolean => name === PROXY;

function statusPortOf(proxy: NamedItem): number {
  const { args } = proxy;
  const words = Array.isArray(args) ? args.map(String) : [];
  const at = words.findIndex((word) => word === '--statusPort' || word.startsWith('--statusPort='));
  if (at < 0) return DEFAULT_STATUS_PORT;
  const text = words[at] === '--statusPort' ? (words[at + 1] ?? '') : (words[at] ?? '').slice('--statusPort='.length);
  return /^[0-9]{1,5}$/.test(text) ? Number(text) : 0;
}

function environmentOf(container: NamedItem): readonly Readonly<Record<string, unknown>>[] {
  const env = container['env'] ?? [];
  return isRecordList(env) ? env : [];
}

/** The JSON of a variable; undefined when there is none, or when it is none of injection's. */
function variableOf(container: NamedItem, name: string): unknown {
  const value = environmentOf(container).find((variable) => variable['name'] === name)?.['value'];
  try {
    return typeof value === 'string' ? JSON.parse(value) : undefined;
  } catch {
    return undefined;
  }
}

const isMovedProbes = (value: unknown): value is MovedHandlers => isRecord(value) && Object.values(value).every(isRecord);

const isMovedScrape = (value: unknown): value is MovedScrape =>
  isRecord(value) && typeof value['port'] === 'number' && typeof value['path'] === 'string';
