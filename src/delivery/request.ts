/** Discovery requests, read without decoding the names they repeat with every acknowledgement. */
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { Node } from '#gen/envoy/config/core/v3/base.ts';
import { Status } from '#gen/google/rpc/status.ts';
import { MeshError } from '../lib/errors.ts';
import type { NamePool, NameSet } from './name-set.ts';
import type { ProxyNode, TypeUrl } from './ports.ts';

interface CommonRequest {
  /** Only a stream's first request needs it. */
  readonly node: ProxyNode | undefined;
  readonly typeUrl: string;
  readonly responseNonce: string;
  /** Why the client rejects the response of `responseNonce`; undefined: it does not. */
  readonly rejection: string | undefined;
}

/** envoy.service.discovery.v3.DiscoveryRequest */
export interface SotwRequest extends CommonRequest {
  /** What a client holds that has no stream to acknowledge on; a stream's requests are matched by nonce. */
  readonly versionInfo: string;
  readonly names: NameSet;
}

/** envoy.service.discovery.v3.DeltaDiscoveryRequest */
export interface DeltaRequest extends CommonRequest {
  readonly subscribe: NameSet;
  readonly unsubscribe: NameSet;
  /** What the client holds from an earlier stream: versions by resource name. */
  readonly initialVersions: ReadonlyMap<string, string>;
}

export function parseSotwRequest(bytes: Uint8Array, pool: NamePool): SotwRequest {
  const fields = readFields(bytes);
  return {
    versionInfo: fields.text(1),
    node: nodeOf(fields.get(2)),
    names: pool.fromWire(fields.joined(3)),
    typeUrl: fields.text(4),
    responseNonce: fields.text(5),
    rejection: rejectionOf(fields.get(6)),
  };
}

export function parseDeltaRequest(bytes: Uint8Array, pool: NamePool, maxNames: number): DeltaRequest {
  const fields = readFields(bytes);
  return {
    node: nodeOf(fields.get(1)),
    typeUrl: fields.text(2),
    subscribe: pool.fromWire(fields.joined(3)),
    unsubscribe: pool.fromWire(fields.joined(4)),
    initialVersions: versionsOf(fields.joined(5), maxNames),
    responseNonce: fields.text(6),
    rejection: rejectionOf(fields.get(7)),
  };
}

/** The type that a request is about. Throws `invalid` when it is missing, malformed, or not the service's own. */
export function requireTypeUrl(typeUrl: string, own: TypeUrl | undefined): TypeUrl {
  if (own !== undefined && (typeUrl === '' || typeUrl === own)) return own;
  if (own !== undefined) throw new MeshError('invalid', `this service serves ${own}, not ${typeUrl.slice(0, 200)}`);
  if (!isTypeUrl(typeUrl))
    throw new MeshError('invalid', 'the discovery request has no type_url of the form type.googleapis.com/...');
  return typeUrl;
}

function isTypeUrl(text: string): text is TypeUrl {
  return /^type\.googleapis\.com\/[\w.]{1,200}$/.test(text);
}

/** Clients write their fields in order; a message that alternates between two is made to cost. */
const MAX_SEGMENTS = 1_000;

/** Fields of one number, one directly after the other. */
interface Segment {
  readonly field: number;
  readonly start: number;
  end: number;
  /** Where the content of the last one begins. */
  content: number;
}

/**
 * The length-delimited fields of a message, as places in its bytes: an acknowledgement repeats a thousand names, which are not to become a
 * thousand objects.
 */
class Fields {
  readonly #bytes: Uint8Array;
  readonly #segments: Segment[] = [];

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  add(field: number, start: number, content: number, end: number): void {
    const last = this.#segments.at(-1);
    if (last?.field === field && last.end === start) {
      last.end = end;
      last.content = content;
    } else {
      if (this.#segments.length >= MAX_SEGMENTS) throw new RangeError('fields in no order');
      this.#segments.push({ field, start, end, content });
    }
  }

  /** The last value. */
  get(field: number): Uint8Array | undefined {
    const segment = this.#segments.findLast((one) => one.field === field);
    return segment === undefined ? undefined : this.#bytes.subarray(segment.content, segment.end);
  }

  text(field: number): string {
    const value = this.get(field);
    return value === undefined ? '' : Buffer.from(value.buffer, value.byteOffset, value.length).toString('utf8');
  }

  /** All fields of a number with their tags, one after the other. */
  joined(field: number): Uint8Array {
    const segments = this.#segments.filter((one) => one.field === field);
    const parts = segments.map(({ start, end }) => this.#bytes.subarray(start, end));
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
  }
}

function readFields(bytes: Uint8Array): Fields {
  const fields = new Fields(bytes);
  try {
    const reader = new BinaryReader(bytes);
    while (reader.pos < reader.len) {
      const start = reader.pos;
      const [field, type] = reader.tag();
      if (type === WireType.LengthDelimited) {
        const length = reader.uint32();
        const content = reader.pos;
        reader.pos += length;
        fields.add(field, start, content, reader.pos);
      } else {
        reader.skip(type);
      }
    }
    if (reader.pos > reader.len) throw new RangeError('a field goes beyond the end of the message');
    return fields;
  } catch (thrown) {
    throw new MeshError('invalid', 'the discovery request cannot be decoded', thrown);
  }
}

function decoded<T>(decode: () => T): T {
  try {
    return decode();
  } catch (thrown) {
    if (thrown instanceof MeshError) throw thrown;
    throw new MeshError('invalid', 'the discovery request cannot be decoded', thrown);
  }
}

/** Envoy's own list of extensions takes some 40 kB; what a node says is kept as long as its stream lives. */
const MAX_NODE_BYTES = 256 * 1024;

function nodeOf(bytes: Uint8Array | undefined): ProxyNode | undefined {
  if (bytes === undefined) return undefined;
  if (bytes.length > MAX_NODE_BYTES) {
    const message = `the node of a discovery request takes ${bytes.length} bytes, over the limit of ${MAX_NODE_BYTES}; put less into its metadata`;
    throw new MeshError('resource_exhausted', message);
  }
  const node = decoded(() => Node.decode(bytes));
  const version = node.userAgentVersionType?.$case === 'userAgentVersion' ? node.userAgentVersionType.userAgentVersion : '';
  const built =
    node.userAgentVersionType?.$case === 'userAgentBuildVersion' ? node.userAgentVersionType.userAgentBuildVersion : undefined;
  const number = built?.version;
  const text = number === undefined ? version : `${number.majorNumber}.${number.minorNumber}.${number.patch}`;
  const userAgent = [node.userAgentName, text].filter((part) => part !== '').join('/');
  return { id: node.id, cluster: node.cluster, metadata: node.metadata ?? {}, userAgent };
}

function rejectionOf(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined ? undefined : decoded(() => Status.decode(bytes)).message;
}

function versionsOf(fields: Uint8Array, maxNames: number): ReadonlyMap<string, string> {
  return decoded(() => {
    const versions = new Map<string, string>();
    const reader = new BinaryReader(fields);
    while (reader.pos < reader.len) {
      reader.tag();
      const entry = readFields(reader.bytes());
      versions.set(entry.text(1), entry.text(2));
      if (versions.size > maxNames) {
        throw new MeshError('resource_exhausted', `a request holds more resource versions than the limit of ${maxNames}`);
      }
    }
    return versions;
  });
}
