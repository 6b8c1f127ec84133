/** What gRPC writes into HTTP/2 headers, as text and back. */
import type { IncomingHttpHeaders } from 'node:http2';
import { type Duration, milliseconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';

const TIMEOUT = /^(\d{1,8})([HMSmun])$/;
const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };
/** Node's timers hold no more. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** `grpc-timeout`: at most eight digits and a unit. Absent: no deadline. */
export function parseTimeout(text: string | undefined): Duration | undefined {
  if (text === undefined) return undefined;
  const match = TIMEOUT.exec(text);
  const unit = UNIT_MS[match?.[2] ?? ''];
  if (match === null || unit === undefined) {
    throw new MeshError('invalid', 'grpc-timeout is not at most eight digits and one of the units H, M, S, m, u, n');
  }
  return milliseconds(Math.min(Number(match[1]) * unit, MAX_TIMER_MS));
}

/** `grpc-message`: printable ASCII as it is, all else and `%` percent-encoded by the bytes of UTF-8. */
export function encodeMessage(message: string): string {
  let encoded = '';
  for (const byte of Buffer.from(message, 'utf8')) {
    const plain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    encoded += plain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return encoded;
}

/** Request metadata as CallContext gives it: without pseudo headers. */
export function metadataOf(headers: IncomingHttpHeaders): ReadonlyMap<string, string> {
  const metadata = new Map<string, string>();
  for (const [key, value] of Object.entries(headers)) {
    if (key.startsWith(':') || value === undefined) continue;
    metadata.set(key, Array.isArray(value) ? value.join(',') : value);
  }
  return metadata;
}

/** `application/grpc`, also with `+proto` or parameters; not `application/grpc-web`. */
export function isGrpcContentType(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/grpc(\+proto)?(;.*)?$/i.test(contentType);
}
