/** gRPC clients of others behind one interface, so that one test runs with each: grpc-js in this process, grpc-go in its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import * as grpc from '@grpc/grpc-js';
import { grpcGoClientPath } from '../../setup/grpc-go.ts';

export interface Target {
  readonly port: number;
  readonly tls?: { readonly rootPem: string; readonly keyPem?: string; readonly chainPem?: string; readonly serverName: string };
}

/** What one call does. */
export interface CallScript {
  readonly path: string;
  readonly clientStreams?: boolean;
  readonly serverStreams?: boolean;
  readonly messages?: readonly (string | Buffer)[];
  /** Values of keys in `-bin` are base64. */
  readonly metadata?: readonly (readonly [string, string])[];
  readonly timeoutMs?: number;
  /** Compresses requests, and so asks for compressed responses. */
  readonly gzip?: boolean;
  /** Waits for the answer to each message before the next is sent. */
  readonly lockstep?: boolean;
  /** Leaves the sending side open. */
  readonly stayOpen?: boolean;
  /** Cancels once this many messages came. */
  readonly cancelAfter?: number;
  /** Never takes a message from the transport. */
  readonly neverRead?: boolean;
  /** Counts messages instead of keeping them. */
  readonly countOnly?: boolean;
}

export interface CallResult {
  readonly code: number;
  readonly message: string;
  /** An encoded google.rpc.Status, where the server sent one. */
  readonly details: Buffer | undefined;
  /** Values of keys in `-bin` are base64. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly trailers: Readonly<Record<string, readonly string[]>>;
  readonly messages: readonly Buffer[];
  readonly count: number;
}

export interface RpcClient {
  readonly name: string;
  /** Why it cannot be used here. */
  readonly missing: string | undefined;
  /** Plays `calls` calls at the same time, spread over `connections` connections of their own. */
  play(target: Target, call: CallScript, calls?: number, connections?: number): Promise<readonly CallResult[]>;
  close(): void;
}

export async function playOne(client: RpcClient, target: Target, call: CallScript): Promise<CallResult> {
  const [result] = await client.play(target, call);
  if (result === undefined) throw new Error(`${client.name} gave no result`);
  return result;
}

const identity = (bytes: Buffer): Buffer => bytes;

export class GrpcJsClient implements RpcClient {
  readonly name = 'grpc-js';
  readonly missing = undefined;

  async play(target: Target, script: CallScript, calls = 1, connections = 1): Promise<readonly CallResult[]> {
    const clients = Array.from({ length: connections }, () => grpcJsConnection(target, script));
    try {
      return await Promise.all(
        Array.from({ length: calls }, (_, i) => playGrpcJs(clients[i % connections] as grpc.Client, script)),
      );
    } finally {
      for (const client of clients) client.close();
    }
  }

  close(): void {}
}

function grpcJsConnection({ port, tls }: Target, script: CallScript): grpc.Client {
  const pem = (text: string | undefined): Buffer | null => (text === undefined ? null : Buffer.from(text));
  const credentials =
    tls === undefined
      ? grpc.credentials.createInsecure()
      : grpc.credentials.createSsl(pem(tls.rootPem), pem(tls.keyPem), pem(tls.chainPem));
  return new grpc.Client(`127.0.0.1:${port}`, credentials, {
    'grpc.use_local_subchannel_pool': 1,
    'grpc.max_receive_message_length': -1,
    'grpc.enable_retries': 0,
    ...(script.gzip === true ? { 'grpc.default_compression_algorithm': grpc.compressionAlgorithms.gzip } : {}),
    ...(tls === undefined ? {} : { 'grpc.ssl_target_name_override': tls.serverName }),
  });
}

function grpcJsMetadata(script: CallScript): grpc.Metadata {
  const metadata = new grpc.Metadata();
  for (const [key, value] of script.metadata ?? []) {
    metadata.add(key, key.endsWith('-bin') ? Buffer.from(value, 'base64') : value);
  }
  return metadata;
}

function playGrpcJs(client: grpc.Client, script: CallScript): Promise<CallResult> {
  const messages: Buffer[] = [];
  let count = 0;
  let headers: grpc.Metadata | undefined;
  const take = (message: Buffer): void => {
    count += 1;
    if (script.countOnly !== true) messages.push(message);
  };
  const resultOf = ({ code, details, metadata }: grpc.StatusObject): CallResult => {
    const [status] = metadata.get('grpc-status-details-bin');
    const detailBytes = status === undefined ? undefined : Buffer.from(status);
    return {
      ...{ code, message: details, details: detailBytes, messages, count },
      ...{ headers: textual(headers), trailers: textual(metadata) },
    };
  };
  const deadline = script.timeoutMs === undefined ? {} : { deadline: Date.now() + script.timeoutMs };
  const metadata = grpcJsMetadata(script);
  return new Promise((resolve) => {
    const onHeaders = (received: grpc.Metadata): void => {
      headers = received;
    };
    if (script.clientStreams === true || script.serverStreams === true) {
      const stream = client.makeBidiStreamRequest(script.path, identity, identity, metadata, deadline);
      stream.on('metadata', onHeaders);
      stream.on('error', () => {});
      stream.on('status', (status) => resolve(resultOf(status)));
      converse(stream, script, take, () => count);
    } else {
      const request = Buffer.from(script.messages?.[0] ?? '');
      const call = client.makeUnaryRequest(script.path, identity, identity, request, metadata, deadline, (_error, response) => {
        if (response !== undefined) take(response);
      });
      call.on('metadata', onHeaders);
      call.on('status', (status) => resolve(resultOf(status)));
    }
  });
}

function converse(
  stream: grpc.ClientDuplexStream<Buffer, Buffer>,
  script: CallScript,
  take: (message: Buffer) => void,
  count: () => number,
): void {
  const waiting = (script.messages ?? []).map((message) => Buffer.from(message));
  const sendNext = (): void => {
    const next = waiting.shift();
    if (next !== undefined) stream.write(next);
    else if (script.stayOpen !== true) stream.end();
  };
  const cancelWhenDue = (): void => {
    if (script.cancelAfter !== undefined && count() >= script.cancelAfter) stream.cancel();
  };
  if (script.neverRead !== true) {
    stream.on('data', (message: Buffer) => {
      take(message);
      if (script.lockstep === true) sendNext();
      cancelWhenDue();
    });
  }
  do sendNext();
  while (script.lockstep !== true && waiting.length > 0);
  if (script.lockstep !== true && script.stayOpen !== true && (script.messages?.length ?? 0) > 0) stream.end();
  cancelWhenDue();
}

function textual(metadata: grpc.Metadata | undefined): Record<string, string[]> {
  const texts: Record<string, string[]> = {};
  for (const key of Object.keys(metadata?.getMap() ?? {})) {
    texts[key] = (metadata?.get(key) ?? []).map((value) => (typeof value === 'string' ? value : value.toString('base64')));
  }
  return texts;
}

interface GoAnswer {
  readonly id: number;
  readonly error?: string;
  readonly results: readonly (Omit<CallResult, 'messages' | 'details'> & { messages: string[]; details?: string })[] | null;
}

export class GrpcGoClient implements RpcClient {
  readonly name = 'grpc-go';
  readonly #path = grpcGoClientPath(process.env);
  readonly #waiting = new Map<number, (answer: GoAnswer) => void>();
  #process: ChildProcess | undefined;
  #lastId = 0;

  get missing(): string | undefined {
    return existsSync(this.#path)
      ? undefined
      : 'the grpc-go client is not built: `npm run setup` builds it where Go 1.25 is installed';
  }

  async play({ port, tls }: Target, script: CallScript, calls = 1, connections = 1): Promise<readonly CallResult[]> {
    const messages = (script.messages ?? ['']).map((message) => Buffer.from(message).toString('base64'));
    this.#lastId += 1;
    const id = this.#lastId;
    const call = { ...script, metadata: script.metadata ?? [], messages };
    const line = JSON.stringify({ id, target: `127.0.0.1:${port}`, tls, connections, calls, call });
    const answer = await new Promise<GoAnswer>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#start().stdin?.write(`${line}\n`);
    });
    if (answer.error !== undefined) throw new Error(`grpc-go: ${answer.error}`);
    return (answer.results ?? []).map((result) => ({
      ...result,
      messages: result.messages.map((message) => Buffer.from(message, 'base64')),
      details: result.details === undefined ? undefined : Buffer.from(result.details, 'base64'),
    }));
  }

  close(): void {
    this.#process?.stdin?.end();
    this.#process = undefined;
  }

  #start(): ChildProcess {
    if (this.#process !== undefined) return this.#process;
    const child = spawn(this.#path, [], { stdio: ['pipe', 'pipe', 'inherit'] });
    if (child.stdout === null) throw new Error('grpc-go has no standard output');
    createInterface(child.stdout).on('line', (line) => {
      const answer = JSON.parse(line) as GoAnswer;
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
    child.on('close', () => {
      for (const [id, resolve] of this.#waiting) resolve({ id, error: 'the client process ended', results: null });
      this.#waiting.clear();
    });
    this.#process = child;
    return child;
  }
}
