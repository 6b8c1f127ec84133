import validateMeshConfig from '#schemas/mesh-config.js';
import { type Duration, parseDuration } from '../../lib/duration.ts';
import type { Parsed, Problem } from '../../lib/errors.ts';
import { DEFAULT_MESH_CONFIG, type MeshConfig, type ServerAddress } from '../mesh-config.ts';
import { MESH_CONFIG, REFUSED_MESH_CONFIG } from '../schema/mesh-config.ts';
import { locate, readDocuments, type SourceDocument } from './document.ts';
import { type Fields, isMapping } from './object.ts';
import { withoutNulls } from './policy-spec.ts';
import { checkSchema } from './schema-problems.ts';

/**
 * Parses the mesh configuration: YAML text, with the lines of problems (and the file, if its name is given), or a value that was read
 * already. Nothing at all is the default configuration.
 */
export function parseMeshConfig(textOrValue: unknown, file?: string): Parsed<MeshConfig> {
  if (typeof textOrValue !== 'string') return parseValue(textOrValue ?? {});
  const { documents, problems } = readDocuments(textOrValue);
  const named = problems.map((problem) => (file === undefined ? problem : { ...problem, file }));
  const [document, second] = documents.filter(({ value }) => value !== null);
  if (second !== undefined)
    named.push(locate({ path: '', message: 'a second document; the mesh configuration is one' }, second, file));
  if (named.length > 0) return { ok: false, problems: named };
  const parsed = parseValue(document?.value ?? {});
  return parsed.ok || document === undefined ? parsed : located(parsed.problems, document, file);
}

function located(problems: readonly Problem[], document: SourceDocument, file: string | undefined): Parsed<MeshConfig> {
  return { ok: false, problems: problems.map((problem) => locate(problem, document, file)) };
}

function parseValue(value: unknown): Parsed<MeshConfig> {
  if (!isMapping(value)) return { ok: false, problems: [{ path: '', message: 'the mesh configuration must be a mapping' }] };
  const given = withoutNulls(value);
  const known = Object.fromEntries(Object.entries(given).filter(([key]) => !Object.hasOwn(REFUSED_MESH_CONFIG, key)));
  const timeout = parseTimeout(known.connectTimeout);
  const problems = [
    ...refusedKeys(given),
    ...refusedProxySettings(given.defaultConfig),
    ...checkSchema(validateMeshConfig, MESH_CONFIG, known, ''),
    ...['mixerCheckServer', 'mixerReportServer'].flatMap((key) => portProblem(key, known[key])),
    ...portProblem('defaultConfig.tracing.zipkin.address', collectorIn(known['defaultConfig'])),
    ...(timeout.ok ? [] : timeout.problems),
  ];
  if (!timeout.ok || problems.length > 0) return { ok: false, problems };
  const raw = known as RawMeshConfig;
  const {
    outboundTrafficPolicy: outbound,
    connectTimeout: _,
    defaultConfig,
    mixerCheckServer,
    mixerReportServer,
    ...others
  } = raw;
  const { tracing, ...proxyConfig } = defaultConfig ?? {};
  const mode = typeof outbound === 'string' ? outbound : outbound?.mode;
  return {
    ok: true,
    value: {
      ...DEFAULT_MESH_CONFIG,
      ...others,
      ...proxyConfig,
      ...(tracing?.sampling === undefined ? {} : { traceSampling: tracing.sampling }),
      ...(mode === undefined ? {} : { outboundTrafficPolicy: mode }),
      traceCollector: serverAddress(tracing?.zipkin?.address),
      mixerCheckServer: serverAddress(mixerCheckServer),
      mixerReportServer: serverAddress(mixerReportServer),
      connectTimeout: timeout.value,
    },
  };
}

/** The mesh configuration as its schema lets it be; the users' older form of outboundTrafficPolicy is `{mode: ...}`. */
type RawMeshConfig = Partial<
  Omit<
    MeshConfig,
    | 'connectTimeout'
    | 'outboundTrafficPolicy'
    | 'controlPlaneAuthPolicy'
    | 'traceSampling'
    | 'traceCollector'
    | 'mixerCheckServer'
    | 'mixerReportServer'
  >
> & {
  readonly connectTimeout?: string;
  readonly mixerCheckServer?: string;
  readonly mixerReportServer?: string;
  readonly defaultConfig?: Partial<Pick<MeshConfig, 'controlPlaneAuthPolicy'>> & {
    readonly tracing?: { readonly sampling?: number; readonly zipkin?: { readonly address: string } };
  };
  readonly outboundTrafficPolicy?: MeshConfig['outboundTrafficPolicy'] | { readonly mode: MeshConfig['outboundTrafficPolicy'] };
};

/** `host:port`, of the form that the schema asks for. */
function serverAddress(text: string | undefined): ServerAddress | undefined {
  if (text === undefined) return undefined;
  const [host = '', port = ''] = text.split(':');
  return { host, port: Number(port) };
}

function collectorIn(config: unknown): unknown {
  const tracing = isMapping(config) ? config['tracing'] : undefined;
  const zipkin = isMapping(tracing) ? tracing['zipkin'] : undefined;
  return isMapping(zipkin) ? zipkin['address'] : undefined;
}

function portProblem(path: string, text: unknown): readonly Problem[] {
  const port = typeof text === 'string' ? Number(text.split(':')[1]) : Number.NaN;
  return port === 0 || port > 65_535 ? [{ path, message: `${port} is not a port number from 1 to 65535` }] : [];
}

function refusedKeys(given: Fields): readonly Problem[] {
  return Object.keys(given)
    .filter((key) => Object.hasOwn(REFUSED_MESH_CONFIG, key))
    .map((key) => ({ path: key, message: `not supported: ${REFUSED_MESH_CONFIG[key]}; remove the line` }));
}

/** Of the proxies' settings only what the control plane decides stands in the mesh configuration. */
function refusedProxySettings(config: unknown): readonly Problem[] {
  if (!isMapping(config)) return [];
  return Object.keys(config)
    .filter((key) => key !== 'controlPlaneAuthPolicy' && key !== 'tracing')
    .map((key) => ({ path: `defaultConfig.${key}`, message: 'not supported: it is a flag of pilot-agent; remove the line' }));
}

function parseTimeout(value: unknown): Parsed<Duration> {
  if (typeof value !== 'string') return { ok: true, value: DEFAULT_MESH_CONFIG.connectTimeout };
  const parsed = parseDuration(value);
  const reason = parsed.ok ? 'must be longer than 0s' : (parsed.problems[0]?.message ?? 'not a duration');
  if (parsed.ok && parsed.value > 0) return parsed;
  return { ok: false, problems: [{ path: 'connectTimeout', message: reason }] };
}
