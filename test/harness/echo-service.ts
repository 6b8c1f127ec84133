/** The methods that gRPC clients are tried against, and a record of what their handlers saw. */
import { once } from 'node:events';
import { GrpcCode, GrpcStatusError } from '../../src/io/grpc/status.ts';
import type { HandlerContext, Method, ServerStream } from '../../src/io/grpc/types.ts';
import { MeshError } from '../../src/lib/errors.ts';

export const UNARY = '/mesh.test.Echo/Unary';
export const COLLECT = '/mesh.test.Echo/Collect';
export const EXPAND = '/mesh.test.Echo/Expand';
export const CHAT = '/mesh.test.Echo/Chat';
export const STATUS = '/mesh.test.Echo/Status';
export const METADATA = '/mesh.test.Echo/Metadata';
export const HANG = '/mesh.test.Echo/Hang';
export const WAIT = '/mesh.test.Echo/Wait';
export const THROW = '/mesh.test.Echo/Throw';

export interface Ask {
  readonly count: number;
  readonly size: number;
}

/** A status as a client asks for it; the details are base64. */
export interface AskedStatus {
  readonly code: number;
  readonly message: string;
  readonly details?: string;
}

export class EchoService {
  /** Calls of Hang, which ends only when it is aborted, that run. */
  hanging = 0;
  /** Calls of Wait that run. */
  waiting = 0;
  /** Calls of Wait answer once this is resolved. */
  readonly gate = Promise.withResolvers<void>();
  /** Calls of Expand that run. */
  expanding = 0;
  /** Messages that Expand has handed to the transport. */
  expanded = 0;
  readonly contexts: HandlerContext[] = [];
  readonly #changed = new EventTarget();

  /** Waits until something that the handlers count makes the condition true. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await once(this.#changed, 'change');
  }

  get methods(): readonly Method[] {
    return [
      { type: 'unary', path: UNARY, handle: async (request, context) => this.#saw(context, request) },
      { type: 'unary', path: METADATA, handle: async (request, context) => echoMetadata(this.#saw(context, request), context) },
      { type: 'unary', path: STATUS, handle: async (request) => fail(JSON.parse(String(request))) },
      { type: 'unary', path: THROW, handle: async () => JSON.parse('{ "password": hunter2') },
      { type: 'unary', path: WAIT, handle: (request) => this.#wait(request) },
      { type: 'stream', path: COLLECT, handle: collect },
      { type: 'stream', path: CHAT, handle: chat },
      { type: 'stream', path: EXPAND, handle: (stream) => this.#expand(stream) },
      { type: 'stream', path: HANG, handle: (stream, context) => this.#hang(stream, context) },
    ];
  }

  #saw(context: HandlerContext, request: Uint8Array): Uint8Array {
    this.contexts.push(context);
    return request;
  }

  #change(): void {
    this.#changed.dispatchEvent(new Event('change'));
  }

  async #wait(request: Uint8Array): Promise<Uint8Array> {
    this.waiting += 1;
    this.#change();
    await this.gate.promise;
    return request;
  }

  async #expand(stream: ServerStream): Promise<void> {
    this.expanding += 1;
    try {
      for await (const request of stream.requests) {
        const { count, size } = JSON.parse(String(request)) as Ask;
        const message = Buffer.alloc(size, 'x');
        for (let i = 0; i < count; i += 1) {
          await stream.write([message]);
          this.expanded += 1;
          this.#change();
        }
      }
    } finally {
      this.expanding -= 1;
      this.#change();
    }
  }

  /** Says one word, so that a client knows that it runs. */
  async #hang(stream: ServerStream, context: HandlerContext): Promise<void> {
    this.hanging += 1;
    this.#change();
    await stream.write([]).catch(() => {});
    if (!context.signal.aborted) await once(context.signal, 'abort');
    this.hanging -= 1;
    this.#change();
  }
}

async function collect(stream: ServerStream): Promise<void> {
  const all: Uint8Array[] = [];
  for await (const request of stream.requests) all.push(request);
  await stream.write(all);
}

async function chat(stream: ServerStream): Promise<void> {
  for await (const request of stream.requests) await stream.write([request]);
}

/** Sends everything back whose key begins with `x-`, the headers as they came and the trailers with `-again` before the suffix. */
function echoMetadata(request: Uint8Array, { metadata, response }: HandlerContext): Uint8Array {
  for (const [key, joined] of metadata) {
    if (!key.startsWith('x-')) continue;
    for (const text of joined.split(/, ?/)) {
      const value = key.endsWith('-bin') ? Buffer.from(text, 'base64') : text;
      response.addHeader(key, value);
      response.addTrailer(key.replace(/^x-/, 'x-again-'), value);
    }
  }
  return request;
}

function fail({ code, message, details }: AskedStatus): Uint8Array {
  if (code === GrpcCode.OK) return Buffer.from(message);
  const known = Object.values(GrpcCode).find((candidate) => candidate === code);
  if (known === undefined || known === GrpcCode.OK) throw new MeshError('invalid', `there is no status ${code}`);
  throw new GrpcStatusError({
    code: known,
    message,
    ...(details === undefined ? {} : { details: Buffer.from(details, 'base64') }),
  });
}
