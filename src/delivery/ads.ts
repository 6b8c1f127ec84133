/** The discovery services over gRPC: aggregated and one type each, state of the world and delta. */
import type { Method } from '../io/grpc/types.ts';
import type { Logger } from '../io/log/logger.ts';
import { type Duration, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { DeltaSubscription } from './delta.ts';
import { Frames } from './frames.ts';
import { NamePool } from './name-set.ts';
import type { ConfigSource, DeliveryEvent, Grain, TypeUrl } from './ports.ts';
import { type DeltaRequest, parseDeltaRequest, parseSotwRequest, type SotwRequest } from './request.ts';
import { SotwSubscription } from './sotw.ts';
import { type Admit, DiscoveryStream, type StreamDeps, type Timer, type Variant } from './stream.ts';
import { ADS_DELTA_PATH, ADS_SOTW_PATH, isCollected, TYPE_SERVICES } from './types.ts';

export interface AdsDeps {
  readonly source: ConfigSource;
  /** Told of everything that happens to a proxy's configuration; must not throw. */
  readonly observe: (event: DeliveryEvent) => void;
  /**
   * Whether a peer gets a node's configuration; throws MeshError `unauthenticated` or `permission_denied` if not. Asked when the stream names
   * its node, and again with every snapshot: who is not admitted any more loses the stream.
   */
  readonly admit: Admit;
  readonly logger: Logger;
  /** Ends all streams at once, so that proxies go to another server instead of waiting for this one's last moment. */
  readonly signal?: AbortSignal;
  /** How long a client may take to read one response before its stream is closed. Default 5 s. */
  readonly sendTimeout?: Duration;
  /** Names that one subscription may hold. Default 50,000. */
  readonly maxNames?: number;
  /** For tests; the default is Node's. */
  readonly timer?: Timer;
  /** Milliseconds of a clock that never goes back; the default is Node's. */
  readonly now?: () => number;
}

const DEFAULT_MAX_NAMES = 50_000;
const SHARED_FRAME_BYTES = 64 * 1024 * 1024;

export const systemTimer: Timer = (run, delay) => {
  const timer = setTimeout(run, delay);
  return () => clearTimeout(timer);
};

/** Methods for createGrpcServer. Streams of all of them share names and frames. */
export function createAdsMethods(deps: AdsDeps): readonly Method[] {
  const maxNames = deps.maxNames ?? DEFAULT_MAX_NAMES;
  const pool = new NamePool(maxNames);
  const frames = new Frames(SHARED_FRAME_BYTES);
  const streamDeps: StreamDeps = {
    source: deps.source,
    observe: deps.observe,
    admit: deps.admit,
    timer: deps.timer ?? systemTimer,
    now: deps.now ?? (() => performance.now()),
    sendTimeout: deps.sendTimeout ?? seconds(5),
  };
  const sotw: Variant<SotwRequest> = {
    grain: 'coarse',
    parse: (bytes) => parseSotwRequest(bytes, pool),
    subscribe: (typeUrl) => new SotwSubscription(typeUrl, frames),
  };
  const delta = (grain: Grain): Variant<DeltaRequest> => ({
    grain,
    parse: (bytes) => parseDeltaRequest(bytes, pool, maxNames),
    subscribe: (typeUrl) => new DeltaSubscription(typeUrl, frames, pool, isCollected(typeUrl) ? 'collections' : 'resources'),
  });
  let streams = 0;
  const running = new Set<(reason: MeshError) => void>();
  const stop = (): void => {
    for (const end of running) end(new MeshError('unavailable', 'pilot-discovery is stopping; connect again'));
  };
  deps.signal?.addEventListener('abort', stop, { once: true });

  /** Whichever comes first: the stream's own end, or that of everything. */
  async function untilStopped(run: Promise<void>): Promise<void> {
    const { promise, reject } = Promise.withResolvers<never>();
    running.add(reject);
    try {
      await Promise.race([run, promise]);
    } finally {
      running.delete(reject);
    }
  }

  function method<R extends SotwRequest | DeltaRequest>(path: string, variant: Variant<R>, own?: TypeUrl): Method {
    return {
      type: 'stream',
      path,
      async handle(stream, { peer }) {
        streams += 1;
        const id = streams;
        try {
          await untilStopped(new DiscoveryStream(id, streamDeps, variant, own, stream, peer).run());
        } catch (thrown) {
          const { code, message } = MeshError.from(thrown);
          if (code !== 'cancelled' && deps.signal?.aborted !== true)
            deps.logger.warn('a discovery stream was ended', { streamId: id, peer: peer.address, code, reason: message });
          throw thrown;
        }
      },
    };
  }

  return [
    method(ADS_SOTW_PATH, sotw),
    // The fine grain spreads over types that only this service brings on one stream.
    method(ADS_DELTA_PATH, delta('fine')),
    ...TYPE_SERVICES.flatMap(({ typeUrl, sotwPath, deltaPath }) => [
      ...(sotwPath === undefined ? [] : [method(sotwPath, sotw, typeUrl)]),
      method(deltaPath, delta(isCollected(typeUrl) ? 'fine' : 'coarse'), typeUrl),
    ]),
  ];
}
