import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect as connectTcp, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import * as grpc from '@grpc/grpc-js';
import { expect } from 'chai';
import fc from 'fast-check';
import { createGrpcServer } from '../../../../src/io/grpc/server.ts';
import { grpcCodeOf } from '../../../../src/io/grpc/status.ts';
import type { CallContext, Method } from '../../../../src/io/grpc/types.ts';
import { silentLogger } from '../../../../src/io/log/logger.ts';
import { type ErrorCode, MeshError } from '../../../../src/lib/errors.ts';
import { MemoryLogger } from '../../../fakes/memory-logger.ts';
import { Bench, bidi, call, callWith, FAST_KEEPALIVE, framed, GRPC_HEADERS, outcomeOf, raw } from './peers.ts';

const ECHO = '/test.Echo/Unary';
const CHAT = '/test.Echo/Chat';

const echo: Method = { type: 'unary', path: ECHO, handle: async (request) => request };

const chat: Method = {
  type: 'stream',
  path: CHAT,
  async handle(stream) {
    for await (const request of stream.requests) await stream.write([Buffer.from('re:'), request]);
  },
};

function failing(thrown: unknown): Method {
  return { type: 'unary', path: ECHO, handle: () => Promise.reject(thrown) };
}

/** A method that never answers, and the context of its call once there is one. */
function hanging(path: string): { method: Method; started: Promise<CallContext> } {
  const { promise, resolve } = Promise.withResolvers<CallContext>();
  const handle = (context: CallContext) => {
    resolve(context);
    return new Promise<never>(() => {});
  };
  const method: Method =
    path === ECHO
      ? { type: 'unary', path, handle: (_request, context) => handle(context) }
      : { type: 'stream', path, handle: (_stream, context) => handle(context) };
  return { method, started: promise };
}

async function aborted(context: CallContext): Promise<void> {
  if (!context.signal.aborted) await once(context.signal, 'abort');
}

describe('gRPC server', () => {
  const bench = new Bench();
  afterEach(() => bench.close());

  describe('unary calls', () => {
    it('answers', async () => {
      const server = await bench.serve({ methods: [echo] });
      expect(await call(bench.client(server), ECHO, 'hello')).to.deep.equal({ code: 0, details: '', response: 'hello' });
    });

    it('answers an empty message with an empty message', async () => {
      const server = await bench.serve({ methods: [echo] });
      expect(await call(bench.client(server), ECHO, '')).to.deep.equal({ code: 0, details: '', response: '' });
    });

    it('carries messages of megabytes both ways', async () => {
      const server = await bench.serve({ methods: [echo] });
      const big = 'x'.repeat(4 * 1024 * 1024);
      const client = bench.client(server, undefined, { 'grpc.max_receive_message_length': -1 });
      expect((await call(client, ECHO, big)).response).to.have.length(big.length);
    });

    it('gives the handler metadata and peer', async () => {
      const seen: CallContext[] = [];
      const handle = async (request: Uint8Array, context: CallContext) => {
        seen.push(context);
        return request;
      };
      const method: Method = { type: 'unary', path: ECHO, handle };
      const server = await bench.serve({ methods: [method] });
      const metadata = new grpc.Metadata();
      metadata.set('authorization', 'Bearer token');
      await callWith(bench.client(server), ECHO, '', metadata);
      expect(seen[0]?.metadata.get('authorization')).to.equal('Bearer token');
      expect(seen[0]?.peer.address).to.match(/^127\.0\.0\.1:\d+$/);
      expect(seen[0]?.peer.certificate).to.equal(undefined);
      await aborted(seen[0] as CallContext);
    });

    const codes: ErrorCode[] = [
      ...(['invalid', 'not_found', 'already_exists', 'conflict', 'permission_denied', 'unauthenticated', 'unavailable'] as const),
      ...(['deadline_exceeded', 'resource_exhausted', 'failed_precondition', 'unimplemented', 'cancelled', 'usage'] as const),
    ];
    for (const code of codes) {
      it(`ends with the status of ${code} and its message, in any script`, async () => {
        const server = await bench.serve({ methods: [failing(new MeshError(code, 'größe 50% 日本', new Error('secret')))] });
        const outcome = await call(bench.client(server), ECHO, '');
        expect(outcome).to.deep.equal({ code: grpcCodeOf(code), details: 'größe 50% 日本', response: undefined });
      });
    }

    it('tells nothing of what broke inside', async () => {
      const server = await bench.serve({ methods: [failing(new TypeError('password is hunter2'))] });
      expect(await call(bench.client(server), ECHO, '')).to.deep.equal({
        code: 13,
        details: 'internal error',
        response: undefined,
      });
    });

    it('logs what broke inside, with its stack', async () => {
      const logger = new MemoryLogger();
      const server = createGrpcServer({ methods: [failing(new TypeError('password is hunter2'))] }, logger);
      bench.later(() => server.close(0));
      await server.listen({ host: '127.0.0.1', port: 0 });
      await call(bench.client(server), ECHO, '');
      const [entry] = logger.entries.filter(({ level }) => level === 'error');
      expect(entry?.fields).to.include({ path: ECHO });
      expect(entry?.fields['error']).to.have.nested.property('cause.stack').that.contains('server.test.ts');
    });

    it('sends a refusal as trailers only', async () => {
      const server = await bench.serve({ methods: [failing(new MeshError('not_found', 'gone'))] });
      const outcome = await raw(bench.http2(server), { ':path': ECHO }, framed(''));
      expect(outcome.headers[':status']).to.equal(200);
      expect(outcome.headers['grpc-status']).to.equal('5');
      expect(outcome.trailers).to.equal(undefined);
    });

    it('ends at the deadline and aborts the handler', async () => {
      const { method, started } = hanging(ECHO);
      const server = await bench.serve({ methods: [method] });
      const outcome = await raw(bench.http2(server), { ':path': ECHO, 'grpc-timeout': '300m' }, framed(''));
      expect(outcome.headers['grpc-status']).to.equal('4');
      await aborted(await started);
    });

    it('aborts the handler when the client cancels', async () => {
      const { method, started } = hanging(ECHO);
      const server = await bench.serve({ methods: [method] });
      const stream = bidi(bench.client(server), ECHO);
      stream.on('error', () => {});
      stream.write(Buffer.from(''));
      stream.end();
      const context = await started;
      stream.cancel();
      await aborted(context);
    });

    it('aborts the handler when the connection is lost', async () => {
      const { method, started } = hanging(ECHO);
      const server = await bench.serve({ methods: [method] });
      const session = bench.http2(server);
      const answer = raw(session, { ':path': ECHO }, framed(''));
      const context = await started;
      session.destroy();
      await aborted(context);
      await answer;
    });
  });

  describe('unary calls that go wrong half-way', () => {
    it('reset the call when its client does not read the answer until the deadline', async () => {
      const method: Method = { type: 'unary', path: ECHO, handle: async () => Buffer.alloc(3_000_000, 1) };
      const server = await bench.serve({ methods: [method] });
      const stream = bench.http2(server).request({ ...GRPC_HEADERS, ':path': ECHO, 'grpc-timeout': '500m' });
      stream.on('error', () => {});
      stream.end(framed(''));
      await once(stream, 'response');
      // A connection closes when its last call has: long before this grace is over.
      await server.close(60_000);
    });

    it('tell of the deadline when the client reads the answer too late', async () => {
      const { promise: overdue, resolve } = Promise.withResolvers<void>();
      const method: Method = {
        type: 'unary',
        path: ECHO,
        async handle(_request, { signal }) {
          signal.addEventListener('abort', () => resolve());
          return Buffer.alloc(300_000, 1);
        },
      };
      const server = await bench.serve({ methods: [method] });
      const stream = bench.http2(server).request({ ...GRPC_HEADERS, ':path': ECHO, 'grpc-timeout': '500m' });
      stream.end(framed(''));
      await overdue;
      const { body, trailers } = await outcomeOf(stream);
      expect(body.length).to.equal(300_005);
      expect(trailers?.['grpc-status']).to.equal('4');
    });

    it('end quietly when the client goes in the middle of its request, and free what was held of it', async () => {
      const server = await bench.serve({ methods: [echo], maxMessageSize: 1_000 });
      const session = bench.http2(server);
      const message = framed(Buffer.alloc(1_000, 'm'));
      const begin = async () => {
        const stream = session.request({ ...GRPC_HEADERS, ':path': ECHO });
        stream.on('error', () => {});
        stream.write(message.subarray(0, 900));
        await new Promise((resolve) => session.ping(resolve));
        return stream;
      };
      for (let round = 0; round < 40; round += 1) {
        const stream = await begin();
        stream.close(8);
        await once(stream, 'close');
      }
      const last = await begin();
      const answer = outcomeOf(last);
      last.end(message.subarray(900));
      expect((await answer).body).to.deep.equal(message);
    });
  });

  describe('hostile and broken requests', () => {
    const refusals: readonly (readonly [string, Record<string, string>, Buffer, string])[] = [
      ['an unknown method', { ':path': '/test.Echo/Nothing' }, framed(''), '12'],
      ['an unknown encoding', { ':path': ECHO, 'grpc-encoding': 'snappy' }, framed(''), '12'],
      ['a malformed timeout', { ':path': ECHO, 'grpc-timeout': 'soon' }, framed(''), '3'],
      ['a message over the limit', { ':path': ECHO }, framed(Buffer.alloc(1001)), '8'],
      ['a truncated message', { ':path': ECHO }, framed('hello').subarray(0, 7), '13'],
      ['a truncated header', { ':path': ECHO }, Buffer.from([0, 0]), '13'],
      ['unknown flags', { ':path': ECHO }, framed('hello', 4), '13'],
      ['a compressed message without an encoding', { ':path': ECHO }, framed(gzipSync('x'), 1), '13'],
      ['a message that is no gzip', { ':path': ECHO, 'grpc-encoding': 'gzip' }, framed('no gzip', 1), '13'],
      ['a zip bomb', { ':path': ECHO, 'grpc-encoding': 'gzip' }, framed(gzipSync(Buffer.alloc(100_000)), 1), '8'],
      ['no message', { ':path': ECHO }, Buffer.alloc(0), '12'],
      ['two messages', { ':path': ECHO }, Buffer.concat([framed('a'), framed('b')]), '12'],
    ];
    for (const [name, headers, body, status] of refusals) {
      it(`refuses ${name} with status ${status}`, async () => {
        const server = await bench.serve({ methods: [echo], maxMessageSize: 1000 });
        const outcome = await raw(bench.http2(server), headers, body);
        expect(outcome.headers['grpc-status']).to.equal(status);
        expect(outcome.headers['grpc-accept-encoding']).to.equal('identity,gzip');
      });
    }

    it('reads gzip', async () => {
      const server = await bench.serve({ methods: [echo] });
      const client = bench.client(server, undefined, { 'grpc.default_compression_algorithm': 2 });
      expect((await call(client, ECHO, 'x'.repeat(5000))).response).to.have.length(5000);
      const outcome = await raw(bench.http2(server), { ':path': ECHO, 'grpc-encoding': 'gzip' }, framed(gzipSync('packed'), 1));
      expect(outcome.body).to.deep.equal(framed('packed'));
      expect(outcome.trailers?.['grpc-status']).to.equal('0');
    });

    it('compresses what it answers as the request was, if the client takes that and the message gains by it', async () => {
      const server = await bench.serve({ methods: [echo] });
      const session = bench.http2(server);
      const ask = (text: string, accepted: string) => {
        const headers = { ':path': ECHO, 'grpc-encoding': 'gzip', 'grpc-accept-encoding': accepted };
        return raw(session, headers, framed(gzipSync(text), 1));
      };
      const long = 'x'.repeat(5000);
      const packed = await ask(long, 'identity, deflate, gzip');
      expect([packed.headers['grpc-encoding'], packed.body[0]]).to.deep.equal(['gzip', 1]);
      expect(packed.body.length).to.be.lessThan(100);
      expect(gunzipSync(packed.body.subarray(5)).toString()).to.equal(long);
      expect((await ask(long, 'identity')).body).to.deep.equal(framed(long));
      expect((await ask('short', 'gzip')).body).to.deep.equal(framed('short'));
    });

    it('sends what a handler wrote without waiting, compressed or not', async () => {
      const words = ['long '.repeat(1000), 'short', 'long again '.repeat(1000)];
      const hasty: Method = {
        type: 'stream',
        path: CHAT,
        async handle(stream) {
          for (const word of words) void stream.write([Buffer.from(word)]);
        },
      };
      const server = await bench.serve({ methods: [hasty] });
      for (const compression of [0, 2]) {
        const stream = bidi(bench.client(server, undefined, { 'grpc.default_compression_algorithm': compression }), CHAT);
        stream.end();
        const answers: string[] = [];
        for await (const answer of stream) answers.push(String(answer));
        expect(answers).to.deep.equal(words);
      }
    });

    it('serves a client that does not ask for trailers', async () => {
      const server = await bench.serve({ methods: [echo] });
      const stream = bench.http2(server).request({ ':method': 'POST', 'content-type': 'application/grpc', ':path': ECHO });
      stream.end(framed('x'));
      expect((await outcomeOf(stream)).trailers?.['grpc-status']).to.equal('0');
    });

    it('answers another content type with 415 and another method with 405', async () => {
      const server = await bench.serve({ methods: [echo] });
      const session = bench.http2(server);
      const json = await raw(session, { ':path': ECHO, 'content-type': 'application/json' }, Buffer.from('{}'));
      const put = await raw(session, { ':path': ECHO, ':method': 'PUT' }, framed(''));
      expect([json.headers[':status'], put.headers[':status']]).to.deep.equal([415, 405]);
    });

    it('refuses calls over maxConcurrentStreams and serves on', async () => {
      const { method, started } = hanging(CHAT);
      const server = await bench.serve({ methods: [method, echo], maxConcurrentStreams: 1 });
      const session = bench.http2(server);
      await once(session, 'remoteSettings');
      expect(session.remoteSettings.maxConcurrentStreams).to.equal(1);
      const first = session.request({ ...GRPC_HEADERS, ':path': CHAT });
      first.on('error', () => {});
      await started;
      first.close(8);
      await once(first, 'close');
      await new Promise((resolve) => session.ping(resolve));
      const next = await raw(session, { ':path': ECHO }, framed('next'));
      expect(next.body).to.deep.equal(framed('next'));
    });

    it('drops a client that floods it with pings', async () => {
      const server = await bench.serve({ methods: [echo] });
      const session = bench.http2(server);
      await once(session, 'connect');
      const closed = new Promise((resolve) => session.once('close', resolve));
      const flood = () => {
        for (let i = 0; i < 5 && !session.destroyed; i += 1) session.ping(() => {});
        if (!session.destroyed) setImmediate(flood);
      };
      flood();
      await closed;
    });

    it('drops a client that opens and resets calls without end', async () => {
      const { method } = hanging(CHAT);
      const server = await bench.serve({ methods: [method] });
      const session = bench.http2(server);
      await once(session, 'connect');
      const closed = new Promise((resolve) => session.once('close', resolve));
      const flood = () => {
        for (let i = 0; i < 50 && !session.destroyed; i += 1) {
          const stream = session.request({ ...GRPC_HEADERS, ':path': CHAT });
          stream.on('error', () => {});
          stream.close(8);
        }
        if (!session.destroyed) setImmediate(flood);
      };
      flood();
      await closed;
    });

    it('drops a connection that speaks no HTTP/2, and one that says nothing', async () => {
      const server = await bench.serve({ methods: [echo], keepalive: FAST_KEEPALIVE });
      const sockets = ['GET / HTTP/1.1\r\n\r\n', ''].map((opening) => {
        const socket = connectTcp(server.port, '127.0.0.1');
        socket.on('error', () => {});
        socket.resume();
        socket.write(opening);
        return socket;
      });
      await Promise.all(sockets.map((socket) => once(socket, 'close')));
    });
  });

  describe('streams', () => {
    it('exchanges messages in order until the client half-closes', async () => {
      const server = await bench.serve({ methods: [chat] });
      const stream = bidi(bench.client(server), CHAT);
      for (const text of ['a', 'b', 'c']) stream.write(Buffer.from(text));
      stream.end();
      const status = once(stream, 'status');
      const answers: string[] = [];
      for await (const answer of stream) answers.push(String(answer));
      expect(answers).to.deep.equal(['re:a', 're:b', 're:c']);
      expect((await status)[0]).to.have.property('code', 0);
    });

    it('carries any messages, however they are cut into frames', async () => {
      const server = await bench.serve({ methods: [chat] });
      const session = bench.http2(server);
      const messages = fc.array(fc.tuple(fc.uint8Array({ maxLength: 300 }), fc.boolean()), { maxLength: 20 });
      const cuts = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 10 });
      await fc.assert(
        fc.asyncProperty(messages, cuts, async (sequence, sizes) => {
          const stream = session.request({ ...GRPC_HEADERS, ':path': CHAT, 'grpc-encoding': 'gzip' });
          const answer = outcomeOf(stream);
          const bytes = Buffer.concat(
            sequence.map(([text, zip]) => (zip ? framed(gzipSync(text), 1) : framed(Buffer.from(text)))),
          );
          for (let at = 0, n = 0; at < bytes.length; n += 1) {
            const end = at + (sizes[n % sizes.length] ?? 1);
            stream.write(bytes.subarray(at, end));
            at = end;
          }
          stream.end();
          const expected = sequence.map(([text]) => framed(Buffer.concat([Buffer.from('re:'), text])));
          expect((await answer).body.equals(Buffer.concat(expected))).to.equal(true);
        }),
        { numRuns: 50 },
      );
    });

    it('lets many calls share one connection', async () => {
      const server = await bench.serve({ methods: [chat] });
      const client = bench.client(server);
      const answers = await Promise.all(
        Array.from({ length: 200 }, async (_, i) => {
          const stream = bidi(client, CHAT);
          stream.write(Buffer.from(String(i)));
          const [answer] = await once(stream, 'data');
          stream.end();
          return String(answer);
        }),
      );
      expect(answers).to.deep.equal(Array.from({ length: 200 }, (_, i) => `re:${i}`));
    });

    it('ends with the status of an error thrown between messages, as trailers', async () => {
      const method: Method = {
        type: 'stream',
        path: CHAT,
        async handle(stream) {
          await stream.write([Buffer.from('one')]);
          throw new MeshError('permission_denied', 'no more');
        },
      };
      const server = await bench.serve({ methods: [method] });
      const outcome = await raw(bench.http2(server), { ':path': CHAT }, Buffer.alloc(0));
      expect(outcome.body).to.deep.equal(framed('one'));
      expect([outcome.trailers?.['grpc-status'], outcome.trailers?.['grpc-message']]).to.deep.equal(['7', 'no more']);
    });

    it('ends a call whose client goes on sending', async () => {
      const method: Method = { type: 'stream', path: CHAT, handle: () => Promise.reject(new MeshError('invalid', 'stop')) };
      const server = await bench.serve({ methods: [method] });
      const stream = bench.http2(server).request({ ...GRPC_HEADERS, ':path': CHAT });
      stream.on('error', () => {});
      stream.write(framed('never ends'));
      expect((await outcomeOf(stream)).headers['grpc-status']).to.equal('3');
    });

    it('throws cancelled to a handler that waits for requests or writes when the client goes', async () => {
      const codes: string[] = [];
      const { promise: over, resolve } = Promise.withResolvers<void>();
      const method: Method = {
        type: 'stream',
        path: CHAT,
        async handle(stream) {
          try {
            for await (const request of stream.requests) await stream.write([request]);
          } catch (thrown) {
            codes.push(MeshError.from(thrown).code);
          }
          await stream.write([Buffer.from('late')]).catch((thrown) => codes.push(MeshError.from(thrown).code));
          resolve();
        },
      };
      const server = await bench.serve({ methods: [method] });
      const session = bench.http2(server);
      const stream = session.request({ ...GRPC_HEADERS, ':path': CHAT });
      stream.on('error', () => {});
      stream.write(framed('x'));
      await once(stream, 'data');
      session.destroy();
      await over;
      expect(codes).to.deep.equal(['cancelled', 'cancelled']);
    });

    it('keeps a write pending while the client does not read, and resets the call when the handler gives up', async () => {
      const big = Buffer.alloc(3_000_000, 1);
      const { promise: handled, resolve } = Promise.withResolvers<string>();
      const giveUp = Promise.withResolvers<void>();
      const method: Method = {
        type: 'stream',
        path: CHAT,
        async handle(stream) {
          const written = stream.write([big]).then(
            () => 'written',
            (thrown) => MeshError.from(thrown).code,
          );
          await giveUp.promise;
          void written.then(resolve);
          throw new MeshError('unavailable', 'the client does not read');
        },
      };
      const server = await bench.serve({ methods: [method] });
      const stream = bench.http2(server).request({ ...GRPC_HEADERS, ':path': CHAT });
      stream.on('error', () => {});
      await once(stream, 'response');
      const closed = once(stream, 'close');
      giveUp.resolve();
      expect(await handled).to.equal('cancelled');
      await once(stream, 'aborted');
      stream.resume();
      await closed;
      expect(stream.rstCode).to.equal(8);
    });
  });

  describe('connections', () => {
    it('tells clients to go elsewhere, lets running calls end, and takes no new ones', async () => {
      const server = await bench.serve({ methods: [chat] });
      const session = bench.http2(server);
      const stream = session.request({ ...GRPC_HEADERS, ':path': CHAT });
      const answered = once(stream, 'data');
      stream.write(framed('before'));
      await answered;
      const goaway = once(session, 'goaway');
      const closed = server.close(5_000);
      expect((await goaway)[0]).to.equal(0);
      const answer = outcomeOf(stream);
      stream.end(framed('after'));
      expect((await answer).trailers?.['grpc-status']).to.equal('0');
      await closed;
      await expectRefused(server.port);
    });

    it('ends calls that outlive the grace with UNAVAILABLE', async () => {
      const { method, started } = hanging(ECHO);
      const server = await bench.serve({ methods: [method] });
      const outcome = call(bench.client(server), ECHO, '');
      const context = await started;
      await server.close(10);
      expect(await outcome).to.include({ code: 14, details: 'the server is shutting down' });
      expect(context.signal.aborted).to.equal(true);
    });

    it('finds dead peers by pings of its own', async () => {
      const { method, started } = hanging(ECHO);
      const server = await bench.serve({ methods: [method], keepalive: FAST_KEEPALIVE });
      const socket = connectTcp(server.port, '127.0.0.1');
      bench.later(() => socket.destroy());
      const relay = createServer((client) => {
        client.pipe(socket);
        socket.pipe(client);
        client.on('error', () => {});
      });
      await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
      bench.later(() => relay.close());
      const address = relay.address();
      const session = bench.http2({ port: typeof address === 'object' && address !== null ? address.port : 0 } as never);
      void raw(session, { ':path': ECHO }, framed(''));
      const context = await started;
      socket.unpipe();
      socket.pause();
      await aborted(context);
    });

    it('takes a connection from another listener, with what was read of it already', async () => {
      const server = createGrpcServer({ methods: [echo] }, silentLogger);
      bench.later(() => server.close(0));
      const front = createServer((socket: Socket) => {
        socket.once('data', (chunk) => {
          socket.pause();
          socket.unshift(chunk);
          server.accept(socket);
        });
      });
      await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
      bench.later(() => front.close());
      const address = front.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      expect((await call(bench.client({ ...server, port }), ECHO, 'over')).response).to.equal('over');
    });

    it('says what to do when an address is taken', async () => {
      const server = await bench.serve({ methods: [] });
      const other = createGrpcServer({ methods: [] }, silentLogger);
      const error = MeshError.from(await other.listen({ host: '127.0.0.1', port: server.port }).catch((thrown) => thrown));
      expect(error.code).to.equal('already_exists');
      expect(error.message).to.match(/^cannot listen on 127\.0\.0\.1:\d+: something listens there already/);
    });

    it('serves a Unix socket that only its owner can use, over a stale one, but not over a live one or a file', async () => {
      const directory = mkdtempSync(join(tmpdir(), 'grpc-'));
      bench.later(() => rmSync(directory, { recursive: true }));
      const path = join(directory, 's.sock');
      const server = createGrpcServer({ methods: [echo] }, silentLogger);
      bench.later(() => server.close(0));
      await server.listen({ path });
      expect(statSync(path).mode & 0o777).to.equal(0o600);
      const client = new grpc.Client(`unix:${path}`, grpc.credentials.createInsecure());
      bench.later(() => client.close());
      expect((await call(client, ECHO, 'local')).response).to.equal('local');
      const second = createGrpcServer({ methods: [] }, silentLogger);
      expect(await second.listen({ path }).catch((thrown) => thrown.code)).to.equal('already_exists');
      writeFileSync(join(directory, 'file'), 'precious');
      expect(await second.listen({ path: join(directory, 'file') }).catch((thrown) => thrown.message)).to.contain('not a socket');
    });
  });
});

async function expectRefused(port: number): Promise<void> {
  const socket = connectTcp(port, '127.0.0.1');
  const [error] = await once(socket, 'error');
  expect(error).to.have.property('code', 'ECONNREFUSED');
}
