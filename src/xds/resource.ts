import { BinaryWriter } from '@bufbuild/protobuf/wire';
import type { Any } from '#gen/google/protobuf/any.ts';

/** The shapes that delivery consumes, declared here too: neither layer knows the other. */
export type TypeUrl = `type.googleapis.com/${string}`;

/** One resource, serialised once. */
export interface EncodedResource {
  readonly name: string;
  /** Hash of the content: equal content, equal version. */
  readonly version: string;
  /** The bytes of a google.protobuf.Any holding the resource. */
  readonly any: Uint8Array;
}

/** All resources of one type that a class of proxies gets. */
export interface ResourceSet {
  readonly typeUrl: TypeUrl;
  /** Hash over the resources' names and versions. */
  readonly version: string;
  /** Sorted by name. */
  readonly resources: ReadonlyMap<string, EncodedResource>;
}

export const CLUSTER_TYPE: TypeUrl = 'type.googleapis.com/envoy.config.cluster.v3.Cluster';
export const ENDPOINT_TYPE: TypeUrl = 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment';
export const LISTENER_TYPE: TypeUrl = 'type.googleapis.com/envoy.config.listener.v3.Listener';
export const ROUTE_TYPE: TypeUrl = 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration';
export const VIRTUAL_HOST_TYPE: TypeUrl = 'type.googleapis.com/envoy.config.route.v3.VirtualHost';

/** What ts-proto generates for a message, as far as packing needs it. */
export interface MessageCodec<T> {
  encode(message: T): BinaryWriter;
}

/** Wraps a message for a field of type Any. `type` is the full protobuf name. */
export function pack<T>(type: string, codec: MessageCodec<T>, message: T): Any {
  return { typeUrl: `type.googleapis.com/${type}`, value: codec.encode(message).finish() };
}

/** The bytes of an Any that holds already serialised content. */
export function encodeAny(typeUrl: TypeUrl, value: Uint8Array): Uint8Array {
  return new BinaryWriter().uint32(10).string(typeUrl).uint32(18).bytes(value).finish();
}
