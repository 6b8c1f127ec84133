import { Cluster } from '#gen/envoy/config/cluster/v3/cluster.ts';
import { Listener } from '#gen/envoy/config/listener/v3/listener.ts';
import { DeltaDiscoveryRequest, DeltaDiscoveryResponse } from '#gen/envoy/service/discovery/v3/discovery.ts';
import { createGrpcServer } from '../../src/io/grpc/server.ts';
import type { GrpcServer, GrpcServerOptions, ServerStream } from '../../src/io/grpc/types.ts';
import { silentLogger } from '../../src/io/log/logger.ts';

/** A discovery service that gives every proxy the same clusters and listeners, over delta ADS on loopback. */
export class TestDiscovery {
  readonly clusters: Cluster[] = [];
  readonly listeners: Listener[] = [];
  /** Why proxies refused what they got. */
  readonly refusals: string[] = [];
  /** Ids of the nodes that connected. */
  readonly nodes: string[] = [];
  #server: GrpcServer | undefined;

  get port(): number {
    return this.#server?.port ?? 0;
  }

  async listen(port = 0, tls?: GrpcServerOptions['tls']): Promise<void> {
    const path = '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources';
    this.#server = createGrpcServer(
      { methods: [{ type: 'stream', path, handle: (stream) => this.#serve(stream) }], ...(tls === undefined ? {} : { tls }) },
      silentLogger,
    );
    await this.#server.listen({ host: '127.0.0.1', port });
  }

  async close(): Promise<void> {
    await this.#server?.close(0);
  }

  async #serve(stream: ServerStream): Promise<void> {
    for await (const bytes of stream.requests) {
      const request = DeltaDiscoveryRequest.decode(bytes);
      if (request.node !== undefined) this.nodes.push(request.node.id);
      if (request.errorDetail !== undefined) this.refusals.push(request.errorDetail.message);
      if (request.responseNonce === '') await stream.write([this.#response(request.typeUrl)]);
    }
  }

  #response(typeUrl: string): Uint8Array {
    const isCluster = typeUrl.endsWith('.Cluster');
    const named = isCluster
      ? this.clusters.map((cluster) => ({ name: cluster.name, value: Cluster.encode(cluster).finish() }))
      : this.listeners.map((listener) => ({ name: listener.name, value: Listener.encode(listener).finish() }));
    const resources = named.map(({ name, value }) => ({ name, version: '1', resource: { typeUrl, value } }));
    return DeltaDiscoveryResponse.encode(DeltaDiscoveryResponse.fromPartial({ typeUrl, nonce: '1', resources })).finish();
  }
}
