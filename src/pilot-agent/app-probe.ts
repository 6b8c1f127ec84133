import type { Duration } from '../lib/duration.ts';
import { seconds } from '../lib/duration.ts';
import type { Parsed, Problem } from '../lib/errors.ts';
import { Fields } from '../model/parse/fields.ts';
import { readYaml } from '../model/parse/yaml.ts';

/** What a probe of the application's does: https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes */
export type ProbeAction =
  | {
      readonly kind: 'httpGet';
      readonly scheme: 'http' | 'https';
      readonly port: number;
      /** With the query. */
      readonly path: string;
      readonly headers: readonly (readonly [name: string, value: string])[];
    }
  | { readonly kind: 'tcpSocket'; readonly port: number }
  /** Of the health service; the empty name is the server as a whole. */
  | { readonly kind: 'grpc'; readonly port: number; readonly service: string };

export interface AppProbe {
  /** A hook of the container's lifecycle succeeds by any answer, and takes as long as the application does. */
  readonly type: 'probe' | 'hook';
  readonly action: ProbeAction;
  readonly timeout: Duration;
}

/** Probes and lifecycle hooks by the path that the status port serves each at. */
export type AppProbes = ReadonlyMap<string, AppProbe>;

const NAME = '[a-z0-9]([a-z0-9-]*[a-z0-9])?';
const PROBE_PATH = new RegExp(`^/app-health/${NAME}/(livez|readyz|startupz)$`);
const HOOK_PATH = new RegExp(`^/app-lifecycle/${NAME}/(poststart|prestop)$`);
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const REQUEST_TARGET = /^\/[\x21-\x7e]*$/;
const MAX_TIMEOUT_SECONDS = 3600;
const ACTIONS = ['httpGet', 'tcpSocket', 'grpc'] as const;

/**
 * Reads the probes and lifecycle hooks that injection moved to the status port: a JSON object from path to what it was in the
 * pod's manifest, ports being numbers. Every problem has its path.
 */
export function parseAppProbes(text: string): Parsed<AppProbes> {
  const problems: Problem[] = [];
  const read = readYaml(text);
  if (!read.ok) return { ok: false, problems: [read.problem] };
  const value = read.value.values[0];
  const fields = new Fields(value, '', problems);
  const probes = new Map<string, AppProbe>();
  for (const path of Object.keys(typeof value === 'object' && value !== null ? value : {})) {
    const isHook = HOOK_PATH.test(path);
    if (!isHook && !PROBE_PATH.test(path)) problems.push({ path, message: 'is not a path such as /app-health/web/readyz' });
    const probe = parseProbe(isHook ? 'hook' : 'probe', fields.object(path));
    if (probe !== undefined) probes.set(path, probe);
  }
  return problems.length === 0 ? { ok: true, value: probes } : { ok: false, problems };
}

function parseProbe(type: AppProbe['type'], fields: Fields): AppProbe | undefined {
  const kinds = ACTIONS.filter((kind) => fields.has(kind));
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1) {
    fields.refuse('httpGet', `exactly one of ${ACTIONS.join(', ')} is needed`);
    return undefined;
  }
  const timeout = fields.wholeNumber('timeoutSeconds', 1, MAX_TIMEOUT_SECONDS) ?? (type === 'hook' ? MAX_TIMEOUT_SECONDS : 1);
  return { type, action: parseAction(kind, fields.object(kind)), timeout: seconds(timeout) };
}

function parseAction(kind: (typeof ACTIONS)[number], fields: Fields): ProbeAction {
  const port = fields.port('port') ?? 0;
  if (!fields.has('port')) fields.refuse('port', 'is required');
  switch (kind) {
    case 'httpGet':
      return { kind, port, scheme: schemeOf(fields), path: pathOf(fields), headers: headersOf(fields) };
    case 'tcpSocket':
      return { kind, port };
    case 'grpc':
      return { kind, port, service: fields.text('service') ?? '' };
  }
}

function schemeOf(fields: Fields): 'http' | 'https' {
  const scheme = (fields.text('scheme') ?? 'HTTP').toLowerCase();
  if (scheme === 'http' || scheme === 'https') return scheme;
  fields.refuse('scheme', 'is neither HTTP nor HTTPS');
  return 'http';
}

function pathOf(fields: Fields): string {
  const given = fields.text('path') ?? '';
  const path = given.startsWith('/') ? given : `/${given}`;
  if (!REQUEST_TARGET.test(path)) fields.refuse('path', 'has characters that a request cannot have');
  return path;
}

function headersOf(fields: Fields): readonly (readonly [string, string])[] {
  return fields.objects('httpHeaders').map((header) => {
    const name = header.checkedText('name', (text) => (HEADER_NAME.test(text) ? undefined : 'is not the name of a header'));
    const value = header.text('value') ?? '';
    if (!HEADER_VALUE.test(value)) header.refuse('value', 'has characters that a header cannot have');
    return [name, value];
  });
}
