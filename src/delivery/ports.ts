/** What delivery needs from the rest: encoded resources, grouped in sets, and notice of new ones. It knows nothing of their content. */

export type TypeUrl = `type.googleapis.com/${string}`;

/** One resource, serialised once. */
export interface EncodedResource {
  readonly name: string;
  /** Hash of the content: equal content, equal version. */
  readonly version: string;
  /** The bytes of a google.protobuf.Any holding the resource. */
  readonly any: Uint8Array;
}

/** All resources of one type that a class of proxies gets; the same object is given to every proxy that gets the same set. */
export interface ResourceSet {
  readonly typeUrl: TypeUrl;
  /** Hash over the resources' names and versions. */
  readonly version: string;
  /** Sorted by name. */
  readonly resources: ReadonlyMap<string, EncodedResource>;
}

/** A proxy, as its node message tells. */
export interface ProxyNode {
  /** `sidecar~10.244.0.5~sleep-1.foo~foo.svc.cluster.local` */
  readonly id: string;
  readonly cluster: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly userAgent: string;
}

/**
 * How far a client takes its configuration apart: `fine` where parts of a resource can be resources of their own (the virtual hosts of a
 * route table), `coarse` where each resource comes whole.
 */
export type Grain = 'coarse' | 'fine';

/** The configuration in force. */
export interface ConfigSource {
  /** Counts up with every snapshot; 0 before the first one. */
  readonly sequence: number;
  /**
   * The set for one proxy and type. Called for every subscribed type of every stream after each change, so an implementation
   * answers from its cache. Throws MeshError (`invalid`, `permission_denied`) for a node that gets no configuration at all.
   */
  resources(node: ProxyNode, typeUrl: TypeUrl, grain: Grain): ResourceSet;
  /**
   * What `resources` has to wait for, for it may not answer before that; undefined: nothing. To be asked again afterwards, for there may be
   * a newer snapshot by then. Never rejects. Absent: there is never anything to wait for.
   */
  prepare?(node: ProxyNode, typeUrl: TypeUrl, grain: Grain): Promise<void> | undefined;
  /** Runs the listener after every new snapshot, and when everything is to be sent again; returns how to stop it. */
  onChange(listener: (change: Change) => void): () => void;
}

/** `resend`: an operator wants every proxy to be sent what it has, though nothing changed. */
export type Change = 'snapshot' | 'resend';

/** What delivery reports about one proxy and type; the component turns it into logs, metrics and /debug/syncz. */
export type DeliveryEvent =
  | { readonly type: 'connected' | 'disconnected'; readonly streamId: number; readonly node: ProxyNode }
  | {
      readonly type: 'sent' | 'acked';
      readonly streamId: number;
      readonly typeUrl: TypeUrl;
      readonly version: string;
      readonly nonce: string;
      readonly sequence: number;
    }
  | {
      readonly type: 'nacked';
      readonly streamId: number;
      readonly typeUrl: TypeUrl;
      readonly version: string;
      readonly nonce: string;
      readonly message: string;
    }
  | { readonly type: 'timed_out'; readonly streamId: number; readonly typeUrl: TypeUrl }
  /**
   * The stream has caught up with a snapshot: of every type it subscribes to, the content of that snapshot is acknowledged
   * (or it did not differ from what was acknowledged before). Not reported while a rejected or unacknowledged response stands.
   */
  | { readonly type: 'current'; readonly streamId: number; readonly sequence: number };
