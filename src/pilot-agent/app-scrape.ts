import type { Parsed, Problem } from '../lib/errors.ts';
import { Fields } from '../model/parse/fields.ts';
import { readYaml } from '../model/parse/yaml.ts';

/** Where the application's own statistics are, as its `prometheus.io/` annotations said before injection. */
export interface AppScrape {
  readonly port: number;
  /** With the query. */
  readonly path: string;
}

/** Reads `{"port": 9090, "path": "/metrics"}`. */
export function parseAppScrape(text: string): Parsed<AppScrape> {
  const problems: Problem[] = [];
  const read = readYaml(text);
  if (!read.ok) return { ok: false, problems: [read.problem] };
  const fields = new Fields(read.value.values[0], '', problems);
  const port = fields.port('port');
  if (port === undefined && problems.length === 0) fields.refuse('port', 'is required');
  const path = fields.text('path') ?? '/metrics';
  if (!/^\/[\x21-\x7e]*$/.test(path)) fields.refuse('path', 'is not a path such as /metrics');
  return problems.length === 0 ? { ok: true, value: { port: port ?? 0, path } } : { ok: false, problems };
}
