/** Discovery requests over HTTP: the path names the type, the body is a DiscoveryRequest in JSON or protobuf. */
import type { HttpRequest } from '../io/http/types.ts';
import { MeshError } from '../lib/errors.ts';
import type { NamePool, NameSet } from './name-set.ts';
import type { ProxyNode, TypeUrl } from './ports.ts';
import { parseSotwRequest, requireTypeUrl } from './request.ts';
import { CLUSTER, ENDPOINT, LISTENER, ROUTE } from './types.ts';

export const REST_PREFIX = '/v3/discovery:';

const REST_TYPES: ReadonlyMap<string, TypeUrl> = new Map([
  ['clusters', CLUSTER],
  ['endpoints', ENDPOINT],
  ['listeners', LISTENER],
  ['routes', ROUTE],
]);

export const REST_PATHS: readonly string[] = [...REST_TYPES.keys()].map((noun) => `${REST_PREFIX}${noun}`);

export type RestFormat = 'json' | 'protobuf';

export interface RestRequest {
  readonly typeUrl: TypeUrl;
  readonly format: RestFormat;
  readonly node: ProxyNode;
  /** Empty: everything of the type. */
  readonly names: NameSet;
  /** What the client holds; empty: nothing yet. */
  readonly versionInfo: string;
}

/** The type that a path asks for. Throws `not_found` for another path. */
export function restTypeOf(path: string): TypeUrl {
  const typeUrl = REST_TYPES.get(path.slice(REST_PREFIX.length));
  if (typeUrl === undefined) {
    throw new MeshError('not_found', `there is no discovery path ${path.slice(0, 200)}; there are ${REST_PATHS.join(', ')}`);
  }
  return typeUrl;
}

/** The format of a body by its content type; undefined for one that is not served. */
export function restFormatOf(contentType: string | undefined): RestFormat | undefined {
  switch (contentType?.split(';', 1)[0]?.trim().toLowerCase()) {
    case 'application/json':
      return 'json';
    case 'application/x-protobuf':
    case 'application/protobuf':
      return 'protobuf';
    default:
      return undefined;
  }
}

/** Throws `invalid` for a body that is no DiscoveryRequest of that type with a node id, `resource_exhausted` for one that is too large. */
export async function readRestRequest(
  request: HttpRequest,
  typeUrl: TypeUrl,
  format: RestFormat,
  pool: NamePool,
): Promise<RestRequest> {
  const body = await request.body();
  const { node, names, versionInfo, ...asked } = format === 'json' ? parseJson(body, pool) : parseSotwRequest(body, pool);
  requireTypeUrl(asked.typeUrl, typeUrl);
  if (node === undefined || node.id === '') throw new MeshError('invalid', 'the discovery request has no node id');
  return { typeUrl, format, node, names, versionInfo };
}

interface JsonRequest {
  readonly typeUrl: string;
  readonly node: ProxyNode | undefined;
  readonly names: NameSet;
  readonly versionInfo: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Protobuf's JSON has names in camel case or as they stand in the .proto file; Envoy sends the latter. */
function parseJson(body: Buffer, pool: NamePool): JsonRequest {
  const request = objectOf(parsed(body), 'the discovery request');
  const names = request['resource_names'] ?? request['resourceNames'] ?? [];
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string'))
    throw notA('resource_names', 'a list of strings');
  const node = request['node'];
  return {
    typeUrl: textOf(request, 'type_url', 'typeUrl'),
    versionInfo: textOf(request, 'version_info', 'versionInfo'),
    names: pool.of(names),
    node: node === undefined || node === null ? undefined : nodeOf(objectOf(node, 'node')),
  };
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (thrown) {
    throw new MeshError('invalid', 'the discovery request is not valid JSON', thrown);
  }
}

function nodeOf(node: Fields): ProxyNode {
  const metadata = node['metadata'] ?? {};
  const version = textOf(node, 'user_agent_version', 'userAgentVersion') || buildVersion(node);
  const userAgent = [textOf(node, 'user_agent_name', 'userAgentName'), version].filter((part) => part !== '').join('/');
  return { id: textOf(node, 'id'), cluster: textOf(node, 'cluster'), metadata: objectOf(metadata, 'node.metadata'), userAgent };
}

function buildVersion(node: Fields): string {
  const built = node['user_agent_build_version'] ?? node['userAgentBuildVersion'];
  if (built === undefined) return '';
  const number = objectOf(objectOf(built, 'node.user_agent_build_version')['version'] ?? {}, 'version');
  const parts = [
    number['major_number'] ?? number['majorNumber'],
    number['minor_number'] ?? number['minorNumber'],
    number['patch'],
  ];
  return parts.map((part) => Number(part ?? 0)).join('.');
}

function textOf(fields: Fields, ...spellings: readonly string[]): string {
  const value = spellings.map((name) => fields[name]).find((found) => found !== undefined) ?? '';
  if (typeof value !== 'string') throw notA(String(spellings[0]), 'a string');
  return value;
}

function objectOf(value: unknown, what: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw notA(what, 'an object');
  return Object.fromEntries(Object.entries(value));
}

function notA(what: string, kind: string): MeshError {
  return new MeshError('invalid', `${what} is not ${kind}`);
}
