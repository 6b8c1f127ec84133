import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { MeshError } from '../../lib/errors.ts';
import type { Logger } from '../log/logger.ts';
import { Call } from './call.ts';
import { requireEncoding, responseEncoding } from './encoding.ts';
import type { ByteBudget, ControlFrameLimit } from './limits.ts';
import { isGrpcContentType, metadataOf, parseTimeout } from './metadata.ts';
import { onlyMessage, requestMessages } from './requests.ts';
import { GrpcCode, OK, statusOf } from './status.ts';
import type { CallContext, HandlerContext, Method } from './types.ts';

/** What the header fields of a request may take. Clients are told, but Node holds only those to it that confirm our settings. */
export const MAX_HEADER_LIST_BYTES = 16 * 1024;

export interface Service {
  readonly methods: ReadonlyMap<string, Method>;
  readonly maxMessageSize: number;
  readonly logger: Logger;
  /** The calls that run, for a shutdown to end them. */
  readonly running: Set<Call>;
}

/** What the calls of one connection share. */
export interface Connection {
  readonly peer: CallContext['peer'];
  readonly controlFrames: ControlFrameLimit;
  readonly unfinished: ByteBudget;
}

/** Serves one HTTP/2 stream as a gRPC call; never throws, never rejects. */
export async function serveStream(
  service: Service,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  rawHeaders: readonly string[],
  connection: Connection,
): Promise<void> {
  // A reset by the client is no error of ours; without a listener it would end the process.
  stream.on('error', (error) => service.logger.debug('a stream failed', { error: error.message }));
  const refusal = httpRefusal(headers, rawHeaders);
  if (refusal !== undefined) {
    stream.respond({ ':status': refusal }, { endStream: true });
    stream.resume();
    return;
  }
  const call = new Call(stream, responseEncoding(headers), (bytes) => connection.controlFrames.sent(bytes));
  service.running.add(call);
  try {
    await run(service, stream, headers, call, connection);
    await call.flush();
    call.end(OK);
  } catch (thrown) {
    report(service.logger, headers[':path'], thrown);
    call.end(statusOf(thrown));
  } finally {
    service.running.delete(call);
  }
}

function httpRefusal(headers: IncomingHttpHeaders, rawHeaders: readonly string[]): number | undefined {
  if (headerListSize(rawHeaders) > MAX_HEADER_LIST_BYTES) return 431;
  if (headers[':method'] !== 'POST') return 405;
  return isGrpcContentType(headers['content-type']) ? undefined : 415;
}

/** By RFC 9113 section 6.5.2, so that a client that keeps to our settings is never refused. `fields` are names and values in turns. */
function headerListSize(fields: readonly string[]): number {
  let size = 16 * fields.length;
  for (const text of fields) size += text.length;
  return size;
}

async function run(
  service: Service,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  call: Call,
  { peer, unfinished }: Connection,
): Promise<void> {
  const path = headers[':path'] ?? '';
  const method = service.methods.get(path);
  if (method === undefined) throw new MeshError('unimplemented', `there is no method ${path.slice(0, 200)}`);
  const encoding = requireEncoding(headerText(headers, 'grpc-encoding'));
  const timer = startDeadline(call, headerText(headers, 'grpc-timeout'));
  const context = new Context(call, headers, peer);
  const { maxMessageSize } = service;
  try {
    if (method.type === 'unary') {
      const request = await onlyMessage(stream, encoding, maxMessageSize, unfinished);
      await call.answer(await method.handle(request, context));
    } else {
      const requests = cancelledWhenOver(requestMessages(stream, encoding, maxMessageSize, unfinished), stream);
      await method.handle({ requests, write: (chunks) => call.write(chunks) }, context);
    }
  } finally {
    clearTimeout(timer);
  }
}

/** What a handler is given. Its metadata and its signal are made when they are asked for. */
class Context implements HandlerContext {
  readonly peer: HandlerContext['peer'];
  readonly #call: Call;
  readonly #headers: IncomingHttpHeaders;
  #metadata: HandlerContext['metadata'] | undefined;

  constructor(call: Call, headers: IncomingHttpHeaders, peer: HandlerContext['peer']) {
    this.peer = peer;
    this.#call = call;
    this.#headers = headers;
  }

  get metadata(): HandlerContext['metadata'] {
    this.#metadata ??= metadataOf(this.#headers);
    return this.#metadata;
  }

  get response(): HandlerContext['response'] {
    return this.#call.response;
  }

  get signal(): AbortSignal {
    return this.#call.signal;
  }
}

function headerText(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}

function startDeadline(call: Call, header: string | undefined): NodeJS.Timeout | undefined {
  const timeout = parseTimeout(header);
  if (timeout === undefined) return undefined;
  return setTimeout(
    () => call.end({ code: GrpcCode.DEADLINE_EXCEEDED, message: `the deadline of ${timeout} ms is over` }),
    timeout,
  );
}

/** A broken transport shows as whatever Node throws; to the handler it is the end of the call. */
async function* cancelledWhenOver(messages: AsyncIterable<Uint8Array>, stream: ServerHttp2Stream): AsyncGenerator<Uint8Array> {
  try {
    yield* messages;
  } catch (thrown) {
    throw thrown instanceof MeshError ? thrown : new MeshError('cancelled', 'the call is over', thrown);
  }
  // Node ends the readable side of a stream that was reset as if the client had half-closed it.
  if (stream.closed || stream.destroyed) throw new MeshError('cancelled', 'the call is over');
}

function report(logger: Logger, path: string | undefined, thrown: unknown): void {
  const error = MeshError.from(thrown);
  if (error.code === 'internal') logger.error('a gRPC call failed', { path, error });
  else if (error.code !== 'cancelled') logger.debug('a gRPC call was refused', { path, code: error.code, error: error.message });
}
