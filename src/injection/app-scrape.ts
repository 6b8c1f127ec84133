/**
 * The annotations that many Prometheus set-ups find their targets by, turned to the sidecar's status port: it has the
 * application's statistics too, and answers a Prometheus that has no certificate of the mesh.
 */
import type { Labels } from './shape.ts';

const SCRAPE = 'prometheus.io/scrape';
const PORT = 'prometheus.io/port';
const PATH = 'prometheus.io/path';
const SCHEME = 'prometheus.io/scheme';
const MERGED_PATH = '/stats/prometheus';
const DEFAULT_PATH = '/metrics';

/** Where the agent finds the application's statistics; undefined: it has none that are known of. */
export interface MovedScrape {
  readonly port: number;
  readonly path: string;
}

/**
 * The annotations with the merged statistics as target. They stay when they ask for no scraping, and when they name no plain
 * HTTP port of the application's, which the agent could ask.
 */
export function moveScrape(
  annotations: Labels,
  statusPort: number,
): { readonly annotations: Labels; readonly moved: MovedScrape | undefined } {
  const { [SCRAPE]: scrape, [PORT]: port, [SCHEME]: scheme = 'http' } = annotations;
  const unchanged = { annotations, moved: undefined };
  const target = { ...annotations, [SCRAPE]: 'true', [PORT]: String(statusPort), [PATH]: MERGED_PATH };
  if (scrape === undefined) return port === undefined ? { annotations: target, moved: undefined } : unchanged;
  const number = /^[1-9][0-9]{0,4}$/.test(port ?? '') ? Number(port) : 0;
  if (scrape !== 'true' || scheme !== 'http' || number < 1 || number > 65_535 || number === statusPort) return unchanged;
  const path = annotations[PATH] || DEFAULT_PATH;
  return { annotations: target, moved: { port: number, path: path.startsWith('/') ? path : `/${path}` } };
}

/** The opposite. Annotations that somebody has changed since stay as they are now. */
export function restoreScrape(annotations: Labels, statusPort: number, moved: MovedScrape | undefined): Labels {
  if (annotations[PORT] !== String(statusPort) || annotations[PATH] !== MERGED_PATH) return annotations;
  const { [SCRAPE]: _scrape, [PORT]: _port, [PATH]: _path, ...others } = annotations;
  return moved === undefined ? others : { ...others, [SCRAPE]: 'true', [PORT]: String(moved.port), [PATH]: moved.path };
}
