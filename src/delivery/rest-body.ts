/** The body of a REST answer: a DiscoveryResponse in the format of the request. */
import { type Frames, responseHead, select } from './frames.ts';
import type { Interest } from './interest.ts';
import type { EncodedResource, ResourceSet } from './ports.ts';
import type { RestFormat } from './rest-request.ts';

export const CONTENT_TYPES: Readonly<Record<RestFormat, string>> = {
  json: 'application/json',
  protobuf: 'application/x-protobuf',
};

/** `any` in protobuf's JSON. */
export type ToJson = (any: Uint8Array) => unknown;

export class RestBodies {
  readonly #frames: Frames;
  readonly #toJson: ToJson;
  readonly #texts = new WeakMap<EncodedResource, string>();

  constructor(frames: Frames, toJson: ToJson) {
    this.#frames = frames;
    this.#toJson = toJson;
  }

  /** What a client of that interest gets of a set. Each resource is read back into JSON once only. */
  build(format: RestFormat, set: ResourceSet, interest: Interest, version: string): Buffer {
    switch (format) {
      case 'protobuf':
        return Buffer.concat([responseHead(version, set.typeUrl, version), this.#frames.sotw(set, interest)]);
      case 'json': {
        const resources = select(set, interest).map((resource) => this.#textOf(resource));
        const [versionInfo, typeUrl] = [JSON.stringify(version), JSON.stringify(set.typeUrl)];
        return Buffer.from(
          `{"versionInfo":${versionInfo},"typeUrl":${typeUrl},"nonce":${versionInfo},"resources":[${resources.join(',')}]}\n`,
        );
      }
    }
  }

  #textOf(resource: EncodedResource): string {
    const text = this.#texts.get(resource) ?? JSON.stringify(this.#toJson(resource.any));
    this.#texts.set(resource, text);
    return text;
  }
}
