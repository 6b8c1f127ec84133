/**
 * What pushing one message to a thousand streams costs a server, ours and grpc-js beside it: `npm run bench grpc`. The server runs in a
 * process of its own, so that the clients' work is not counted; they read and throw away.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { fileURLToPath } from 'node:url';
import * as grpc from '@grpc/grpc-js';
import { createGrpcServer } from '../src/io/grpc/server.ts';
import { silentLogger } from '../src/io/log/logger.ts';

const STREAMS = 1_000;
const MESSAGE_BYTES = 460_000;
const PUSHES = 6;
const KIB = 1024;
/** What a client lets a server send before it says that it has read: the default of HTTP/2, and that of Envoy. */
const WINDOWS = { 'windows of 64 KiB': 64 * KIB - 1, 'windows of 16 MiB': 16 * KIB * KIB } as const;
const PATH = '/bench.Push/Subscribe';
const SERVERS = { ours: serveOurs, 'grpc-js': serveGrpcJs } as const;

interface Usage {
  readonly cpuMs: number;
  readonly residentMb: number;
}

/** Prints microseconds of CPU a push to one stream, and the greatest resident memory beyond that of idle streams. */
export async function benchGrpc(): Promise<void> {
  for (const server of Object.keys(SERVERS)) {
    for (const connections of [STREAMS, 20]) {
      for (const window of Object.keys(WINDOWS)) await measure(server, connections, window as keyof typeof WINDOWS);
    }
  }
}

async function measure(name: string, connections: number, window: keyof typeof WINDOWS): Promise<void> {
  const server = fork(fileURLToPath(import.meta.url), [name]);
  const [port] = (await once(server, 'message')) as [number];
  const clients = Array.from({ length: connections }, () => client(port, WINDOWS[window]));
  const readers = await Promise.all(
    Array.from({ length: STREAMS }, (_, i) => subscribe(clients[i % connections] as ClientHttp2Session)),
  );
  const idle = await usage(server);
  const costs: number[] = [];
  for (let i = 0; i < PUSHES; i += 1) {
    const before = await usage(server);
    const read = readers.map((reader) => reader(MESSAGE_BYTES + 5));
    server.send('push');
    await Promise.all(read);
    costs.push((((await usage(server)).cpuMs - before.cpuMs) * 1_000) / STREAMS);
  }
  const extra = (await usage(server)).residentMb - idle.residentMb;
  // The first push pays for compiling the code.
  const [best, ...rest] = costs.slice(1).toSorted((a, b) => a - b);
  const range = `${best?.toFixed(0)} to ${rest.at(-1)?.toFixed(0)} us CPU a push`;
  const what = `460 KB to ${STREAMS} streams on ${connections} connections, ${window}, ${name}`;
  process.stdout.write(`${what.padEnd(77)} ${range}, idle ${idle.residentMb.toFixed(0)} MB, peak +${extra.toFixed(0)} MB\n`);
  for (const client of clients) client.destroy();
  server.kill();
}

function client(port: number, window: number): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: window } });
  session.once('connect', () => session.setLocalWindowSize(window));
  return session.on('error', () => {});
}

/** Opens a stream; gives a function that waits for so many bytes more. */
async function subscribe(client: ClientHttp2Session): Promise<(bytes: number) => Promise<void>> {
  const stream = client.request({ ':method': 'POST', ':path': PATH, 'content-type': 'application/grpc', te: 'trailers' });
  stream.on('error', () => {});
  stream.write(Buffer.alloc(5));
  let left = 6;
  let done = (): void => {};
  stream.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left === 0) done();
  });
  const read = (bytes: number): Promise<void> => {
    left = bytes;
    return new Promise((resolve) => {
      done = resolve;
    });
  };
  await read(6);
  return read;
}

async function usage(server: ChildProcess): Promise<Usage> {
  server.send('usage');
  const [answer] = (await once(server, 'message')) as [Usage];
  return answer;
}

async function serveOurs(subscribed: (push: (message: Buffer) => void) => void): Promise<number> {
  const server = createGrpcServer(
    {
      methods: [
        {
          type: 'stream',
          path: PATH,
          async handle(stream, { signal }) {
            await stream.write([Buffer.from('x')]);
            subscribed((message) => void stream.write([message]).catch(() => {}));
            await once(signal, 'abort');
          },
        },
      ],
    },
    silentLogger,
  );
  await server.listen({ host: '127.0.0.1', port: 0 });
  return server.port;
}

async function serveGrpcJs(subscribed: (push: (message: Buffer) => void) => void): Promise<number> {
  const same = (bytes: Buffer): Buffer => bytes;
  const codec = { requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same };
  const server = new grpc.Server();
  server.addService(
    { Subscribe: { path: PATH, requestStream: true, responseStream: true, ...codec } },
    {
      Subscribe(call: grpc.ServerDuplexStream<Buffer, Buffer>) {
        call.on('error', () => {});
        call.on('data', () => {});
        call.write(Buffer.from('x'));
        subscribed((message) => call.write(message));
      },
    },
  );
  return await new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });
}

async function serve(name: keyof typeof SERVERS): Promise<void> {
  const message = Buffer.alloc(MESSAGE_BYTES, 'm');
  const streams: ((message: Buffer) => void)[] = [];
  let peak = 0;
  setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 5).unref();
  process.on('message', (order) => {
    if (order === 'push') for (const push of streams) push(message);
    if (order !== 'usage') return;
    const { user, system } = process.cpuUsage();
    process.send?.({ cpuMs: (user + system) / 1_000, residentMb: Math.max(peak, process.memoryUsage.rss()) / 1e6 });
  });
  process.send?.(await SERVERS[name]((push) => streams.push(push)));
}

const [mode = ''] = process.argv.slice(2);
if (process.send !== undefined && (mode === 'ours' || mode === 'grpc-js')) await serve(mode);
