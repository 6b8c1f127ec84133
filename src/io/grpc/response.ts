/** The HTTP/2 headers and trailers of a response. */
import type { OutgoingHttpHeaders } from 'node:http2';
import { MeshError } from '../../lib/errors.ts';
import { ACCEPTED_ENCODINGS, type Encoding } from './encoding.ts';
import { encodeMessage } from './metadata.ts';
import { type GrpcStatus, OK } from './status.ts';
import type { ResponseMetadata } from './types.ts';

const KEY = /^[0-9a-z_.-]+$/;
const TEXT = /^[\x20-\x7e]*$/;
/** Keys that are the protocol's, HTTP/2's or a hop's. */
const RESERVED = /^(grpc-.*|content-(type|length|encoding)|te|connection|keep-alive|transfer-encoding|upgrade|host)$/;

type Fields = Record<string, string[]>;

const OPENING: OutgoingHttpHeaders = Object.freeze({
  ':status': 200,
  'content-type': 'application/grpc+proto',
  'grpc-accept-encoding': ACCEPTED_ENCODINGS,
});
const OK_TRAILERS: OutgoingHttpHeaders = Object.freeze({ 'grpc-status': '0' });

/** Collects what a handler adds, until it is sent. */
export class Response implements ResponseMetadata {
  readonly #encoding: Encoding;
  /** Made when something is added: most responses have neither. */
  #headers: Fields | undefined;
  #trailers: Fields | undefined;
  #headersSent = false;

  constructor(encoding: Encoding) {
    this.#encoding = encoding;
  }

  addHeader(key: string, value: string | Uint8Array): void {
    if (this.#headersSent) throw new MeshError('failed_precondition', `the headers are sent, ${key} cannot be added`);
    this.#headers ??= {};
    add(this.#headers, key, value);
  }

  addTrailer(key: string, value: string | Uint8Array): void {
    this.#trailers ??= {};
    add(this.#trailers, key, value);
  }

  /** The headers in front of messages. */
  takeHeaders(): OutgoingHttpHeaders {
    this.#headersSent = true;
    if (this.#headers === undefined && this.#encoding === 'identity') return OPENING;
    return { ...this.#headers, ...OPENING, ...(this.#encoding === 'identity' ? {} : { 'grpc-encoding': this.#encoding }) };
  }

  trailers(status: GrpcStatus): OutgoingHttpHeaders {
    return this.#trailers === undefined && status === OK ? OK_TRAILERS : { ...this.#trailers, ...statusFields(status) };
  }

  /** Headers and trailers in one, for a call that ends without a message. */
  takeTrailersOnly(status: GrpcStatus): OutgoingHttpHeaders {
    this.#headersSent = true;
    const opening: OutgoingHttpHeaders = { ...this.#headers, ...OPENING };
    for (const [key, values] of Object.entries(this.#trailers ?? {})) opening[key] = [...(this.#headers?.[key] ?? []), ...values];
    return { ...opening, ...statusFields(status) };
  }
}

function add(fields: Fields, key: string, value: string | Uint8Array): void {
  if (!KEY.test(key) || RESERVED.test(key)) throw new MeshError('internal', `"${key}" is no key for metadata of ours`);
  const binary = key.endsWith('-bin');
  if (binary !== (typeof value !== 'string')) {
    throw new MeshError('internal', `the metadata ${key} must be ${binary ? 'bytes' : 'a text'}`);
  }
  if (typeof value === 'string' && !TEXT.test(value)) {
    throw new MeshError('internal', `the metadata ${key} holds more than printable ASCII: a key in -bin takes bytes`);
  }
  fields[key] ??= [];
  fields[key].push(typeof value === 'string' ? value : unpadded(value));
}

function statusFields({ code, message, details }: GrpcStatus): OutgoingHttpHeaders {
  return {
    'grpc-status': String(code),
    ...(message === '' ? {} : { 'grpc-message': encodeMessage(message) }),
    ...(details === undefined ? {} : { 'grpc-status-details-bin': unpadded(details) }),
  };
}

/** The protocol has senders leave the padding out. */
function unpadded(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64').replace(/=+$/, '');
}
