/** The unary methods beside the streams of each type's service: one request, the state of the world. */
import type { HandlerContext, Method } from '../io/grpc/types.ts';
import { MeshError } from '../lib/errors.ts';
import { Frames, responseHead } from './frames.ts';
import { ALL, type Interest } from './interest.ts';
import { NamePool } from './name-set.ts';
import type { ConfigSource, TypeUrl } from './ports.ts';
import { prepared } from './prepared.ts';
import { parseSotwRequest, requireTypeUrl } from './request.ts';
import type { Admit } from './stream.ts';
import { CLUSTER, ENDPOINT, LISTENER, ROUTE, TYPE_SERVICES } from './types.ts';

export interface FetchDeps {
  readonly source: ConfigSource;
  /** As for streams. */
  readonly admit: Admit;
  /** Names that one request may hold. Default 50,000. */
  readonly maxNames?: number;
}

const DEFAULT_MAX_NAMES = 50_000;
const SHARED_FRAME_BYTES = 16 * 1024 * 1024;
const FETCHED: readonly TypeUrl[] = [CLUSTER, ENDPOINT, LISTENER, ROUTE];

/** Methods for createGrpcServer. */
export function createFetchMethods({ source, admit, maxNames }: FetchDeps): readonly Method[] {
  const pool = new NamePool(maxNames ?? DEFAULT_MAX_NAMES);
  const frames = new Frames(SHARED_FRAME_BYTES);

  async function fetch(bytes: Uint8Array, typeUrl: TypeUrl, { peer }: HandlerContext): Promise<Uint8Array> {
    const { node, names, ...request } = parseSotwRequest(bytes, pool);
    requireTypeUrl(request.typeUrl, typeUrl);
    if (node === undefined || node.id === '') throw new MeshError('invalid', 'the discovery request has no node id');
    if (source.sequence === 0) throw new MeshError('unavailable', 'the configuration has not been read yet; try again');
    admit(node, peer);
    await prepared(source, node, typeUrl, 'coarse');
    const set = source.resources(node, typeUrl, 'coarse');
    const interest: Interest = names.names.size === 0 ? ALL : { type: 'names', names };
    const version = frames.versionOf(set, interest);
    return Buffer.concat([responseHead(version, typeUrl, version), frames.sotw(set, interest)]);
  }

  return TYPE_SERVICES.filter(({ typeUrl }) => FETCHED.includes(typeUrl)).flatMap(({ typeUrl, sotwPath }): Method[] => {
    if (sotwPath === undefined) return [];
    const path = sotwPath.replace('/Stream', '/Fetch');
    return [{ type: 'unary', path, handle: (bytes, context) => fetch(bytes, typeUrl, context) }];
  });
}
