/** What the discovery tests share: a server over a fake source, clients, and short ways to say what they send. */
import { expect } from 'chai';
import {
  DeltaDiscoveryRequest,
  type DeltaDiscoveryResponse,
  DiscoveryRequest,
  type DiscoveryResponse,
} from '#gen/envoy/service/discovery/v3/discovery.ts';
import { type AdsDeps, createAdsMethods } from '../../src/delivery/ads.ts';
import type { DeliveryEvent, ResourceSet, TypeUrl } from '../../src/delivery/ports.ts';
import { createGrpcServer } from '../../src/io/grpc/server.ts';
import type { GrpcServer } from '../../src/io/grpc/types.ts';
import { silentLogger } from '../../src/io/log/logger.ts';
import { FakeConfigSource, resource, resourceSet } from '../fakes/config-source.ts';
import { type DeltaClient, deltaClient, type SotwClient, sotwClient } from '../harness/ads-client.ts';

export const NODE = { id: 'sidecar~10.0.0.1~sleep.foo~foo.svc.cluster.local', cluster: 'sleep', metadata: { NAMESPACE: 'foo' } };

/** A set of opaque resources: names with their content. */
export function setOf(typeUrl: TypeUrl, contents: Readonly<Record<string, string>>): ResourceSet {
  return resourceSet(
    typeUrl,
    Object.entries(contents).map(([name, content]) => resource(typeUrl, name, Buffer.from(content))),
  );
}

export class AdsBench {
  readonly source = new FakeConfigSource();
  readonly events: DeliveryEvent[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #closers: (() => unknown)[] = [];
  server: GrpcServer | undefined;

  async start(options: Partial<AdsDeps> = {}, port = 0): Promise<void> {
    const observe = (event: DeliveryEvent) => {
      this.events.push(event);
      for (const check of this.#waiting) check();
    };
    this.server = createGrpcServer(
      { methods: createAdsMethods({ source: this.source, observe, admit: () => {}, logger: silentLogger, ...options }) },
      silentLogger,
    );
    await this.server.listen({ host: '127.0.0.1', port });
  }

  get port(): number {
    return this.server?.port ?? 0;
  }

  sotw(path?: string): SotwClient {
    const client = sotwClient(this.port, path);
    this.#closers.push(() => client.close());
    return client;
  }

  delta(path?: string): DeltaClient {
    const client = deltaClient(this.port, path);
    this.#closers.push(() => client.close());
    return client;
  }

  /** Resolves with the first event, past or future, that the test looks for. */
  async event(wanted: (event: DeliveryEvent) => boolean): Promise<DeliveryEvent> {
    for (;;) {
      const found = this.events.find(wanted);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        const check = () => {
          this.#waiting.delete(check);
          resolve();
        };
        this.#waiting.add(check);
      });
    }
  }

  count(type: DeliveryEvent['type'], typeUrl?: TypeUrl): number {
    return this.events.filter(
      (event) => event.type === type && (typeUrl === undefined || ('typeUrl' in event && event.typeUrl === typeUrl)),
    ).length;
  }

  async close(): Promise<void> {
    for (const close of this.#closers) close();
    await this.server?.close(0);
  }
}

export function ask(typeUrl: TypeUrl, names: readonly string[] = [], more: Partial<DiscoveryRequest> = {}): DiscoveryRequest {
  return DiscoveryRequest.fromPartial({ typeUrl, resourceNames: [...names], node: NODE, ...more });
}

export function ack(response: DiscoveryResponse, names: readonly string[] = []): DiscoveryRequest {
  const { typeUrl, versionInfo, nonce } = response;
  return DiscoveryRequest.fromPartial({ typeUrl, versionInfo, responseNonce: nonce, resourceNames: [...names] });
}

export function nack(response: DiscoveryResponse, message: string, names: readonly string[] = []): DiscoveryRequest {
  return DiscoveryRequest.fromPartial({ ...ack(response, names), versionInfo: '', errorDetail: { code: 3, message } });
}

export function contents(response: DiscoveryResponse): string[] {
  for (const any of response.resources) expect(any.typeUrl).to.equal(response.typeUrl);
  return response.resources.map((any) => Buffer.from(any.value).toString());
}

export interface DeltaAsk {
  readonly subscribe?: readonly string[];
  readonly unsubscribe?: readonly string[];
  readonly held?: Readonly<Record<string, string>>;
}

export function deltaAsk(
  typeUrl: TypeUrl,
  { subscribe = [], unsubscribe = [], held = {} }: DeltaAsk = {},
): DeltaDiscoveryRequest {
  return DeltaDiscoveryRequest.fromPartial({
    typeUrl,
    node: NODE,
    resourceNamesSubscribe: [...subscribe],
    resourceNamesUnsubscribe: [...unsubscribe],
    initialResourceVersions: { ...held },
  });
}

export function deltaAck({ typeUrl, nonce }: DeltaDiscoveryResponse, rejection?: string): DeltaDiscoveryRequest {
  const errorDetail = rejection === undefined ? undefined : { code: 3, message: rejection };
  return DeltaDiscoveryRequest.fromPartial({ typeUrl, responseNonce: nonce, ...(errorDetail && { errorDetail }) });
}

/** `name=content` of what was sent, and `-name` of what was removed. */
export function changes(response: DeltaDiscoveryResponse): string[] {
  const sent = response.resources.map(({ name, resource: any }) => `${name}=${Buffer.from(any?.value ?? []).toString()}`);
  return [...sent, ...response.removedResources.map((name) => `-${name}`)];
}
