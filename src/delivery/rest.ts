/**
 * Discovery by polling, https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol#rest-json-polling-subscriptions: state of the world
 * for proxies whose bootstrap says `api_type: REST`. Answers are made of the same serialised resources as those on streams.
 */
import { hash } from 'node:crypto';
import type { HttpHandler, HttpRequest, HttpResponse } from '../io/http/types.ts';
import { MeshError } from '../lib/errors.ts';
import { Frames } from './frames.ts';
import { ALL, type Interest } from './interest.ts';
import { NamePool } from './name-set.ts';
import type { PollingProxies } from './polling.ts';
import type { ConfigSource, ProxyNode } from './ports.ts';
import { prepared } from './prepared.ts';
import { CONTENT_TYPES, RestBodies, type ToJson } from './rest-body.ts';
import type { Answer, AnswerCache } from './rest-cache.ts';
import { type RestRequest, readRestRequest, restFormatOf, restTypeOf } from './rest-request.ts';

export interface RestDeps {
  readonly source: ConfigSource;
  readonly proxies: PollingProxies;
  readonly toJson: ToJson;
  /** Absent: every answer is made for itself. */
  readonly cache?: AnswerCache;
  /** Says whether whoever asks may have the configuration of a node; throws MeshError `unauthenticated` or `permission_denied`. */
  readonly admit?: (request: HttpRequest, node: ProxyNode) => void;
  /** Names that one request may hold. Default 50,000. */
  readonly maxNames?: number;
}

const DEFAULT_MAX_NAMES = 50_000;
const SHARED_FRAME_BYTES = 16 * 1024 * 1024;

/** Answers the paths below REST_PREFIX. */
export function createRestHandler(deps: RestDeps): HttpHandler {
  const { source, proxies, cache } = deps;
  const pool = new NamePool(deps.maxNames ?? DEFAULT_MAX_NAMES);
  const frames = new Frames(SHARED_FRAME_BYTES);
  const bodies = new RestBodies(frames, deps.toJson);

  function answerTo({ node, typeUrl, names }: RestRequest): Answer {
    const make = (): Answer => {
      const set = source.resources(node, typeUrl, 'coarse');
      const interest: Interest = names.names.size === 0 ? ALL : { type: 'names', names };
      return { set, interest, version: frames.versionOf(set, interest) };
    };
    if (cache === undefined) return make();
    return cache.answer(`${typeUrl} ${names.id} ${identityOf(node)}`, source.sequence, make);
  }

  function bodyOf({ format }: RestRequest, { set, interest, version }: Answer): Buffer {
    const make = (): Buffer => bodies.build(format, set, interest, version);
    return cache === undefined ? make() : cache.body(`${format} ${set.typeUrl} ${version}`, make);
  }

  async function poll(http: HttpRequest): Promise<HttpResponse> {
    const typeUrl = restTypeOf(http.path);
    if (http.method !== 'POST') {
      return { status: 405, headers: { allow: 'POST' }, body: `${http.path} is asked by POST, with a DiscoveryRequest\n` };
    }
    const contentType = http.headers.get('content-type');
    const format = restFormatOf(contentType);
    if (format === undefined) return unsupported(contentType);
    const request = await readRestRequest(http, typeUrl, format, pool);
    deps.admit?.(http, request.node);
    if (source.sequence === 0) throw new MeshError('unavailable', 'the configuration has not been read yet; try again');
    const { node, names, versionInfo } = request;
    await prepared(source, node, typeUrl, 'coarse');
    const { sequence } = source;
    const answer = answerTo(request);
    proxies.answered({ node, typeUrl, names, held: versionInfo, version: answer.version, sequence });
    if (answer.version === versionInfo) return { status: 304 };
    return { status: 200, headers: { 'content-type': CONTENT_TYPES[format] }, body: bodyOf(request, answer) };
  }

  return poll;
}

/** What of a node decides about its configuration. */
function identityOf({ id, metadata }: ProxyNode): string {
  return `${id} ${hash('sha1', JSON.stringify(metadata), 'base64url')}`;
}

function unsupported(contentType: string | undefined): HttpResponse {
  const given = contentType === undefined ? 'the request has no content type' : `content type ${JSON.stringify(contentType)}`;
  return { status: 415, body: `${given} is not served; send ${CONTENT_TYPES.json} or ${CONTENT_TYPES.protobuf}\n` };
}
