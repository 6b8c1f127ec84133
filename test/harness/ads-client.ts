/** A discovery client that does exactly what a test tells it, over a real gRPC connection. */
import * as grpc from '@grpc/grpc-js';
import {
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
  DiscoveryRequest,
  DiscoveryResponse,
} from '#gen/envoy/service/discovery/v3/discovery.ts';

interface Codec<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(bytes: Uint8Array): T;
}

export class DiscoveryClient<Req, Res> {
  readonly #client: grpc.Client;
  readonly #call: grpc.ClientDuplexStream<Req, Res>;
  readonly #received: Res[] = [];
  #arrived = Promise.withResolvers<void>();
  /** The status the stream ended with. */
  readonly ended: Promise<{ readonly code: number; readonly details: string }>;

  constructor(
    port: number,
    path: string,
    request: Codec<Req>,
    response: Codec<Res>,
    credentials: grpc.ChannelCredentials = grpc.credentials.createInsecure(),
  ) {
    this.#client = new grpc.Client(`127.0.0.1:${port}`, credentials, {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.max_receive_message_length': -1,
    });
    this.#call = this.#client.makeBidiStreamRequest(
      path,
      (message: Req) => Buffer.from(request.encode(message).finish()),
      (bytes: Buffer) => response.decode(bytes),
    );
    this.#call.on('data', (message: Res) => {
      this.#received.push(message);
      this.#arrived.resolve();
    });
    this.#call.on('error', () => {});
    this.ended = new Promise((resolve) => this.#call.on('status', ({ code, details }) => resolve({ code, details })));
  }

  send(request: Req): void {
    this.#call.write(request);
  }

  /** The next response, in order of arrival. */
  async next(): Promise<Res> {
    for (;;) {
      const response = this.#received.shift();
      if (response !== undefined) return response;
      this.#arrived = Promise.withResolvers();
      await this.#arrived.promise;
    }
  }

  /** Responses that came and were not taken by next(). */
  get waiting(): number {
    return this.#received.length;
  }

  /** Stops reading, so that flow control holds the server back. */
  stall(): void {
    this.#call.pause();
  }

  halfClose(): void {
    this.#call.end();
  }

  close(): void {
    this.#call.cancel();
    this.#client.close();
  }
}

const ADS = '/envoy.service.discovery.v3.AggregatedDiscoveryService';

export function sotwClient(port: number, path = `${ADS}/StreamAggregatedResources`) {
  return new DiscoveryClient<DiscoveryRequest, DiscoveryResponse>(port, path, DiscoveryRequest, DiscoveryResponse);
}

export function deltaClient(
  port: number,
  path = `${ADS}/DeltaAggregatedResources`,
  credentials: grpc.ChannelCredentials = grpc.credentials.createInsecure(),
) {
  return new DiscoveryClient<DeltaDiscoveryRequest, DeltaDiscoveryResponse>(
    port,
    path,
    DeltaDiscoveryRequest,
    DeltaDiscoveryResponse,
    credentials,
  );
}

export type SotwClient = ReturnType<typeof sotwClient>;
export type DeltaClient = ReturnType<typeof deltaClient>;
