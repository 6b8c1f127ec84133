/** The gRPC server, called by the clients that the world uses. */
import { expect } from 'chai';
import { Status } from '#gen/google/rpc/status.ts';
import { HealthCheckRequest, HealthCheckResponse, HealthCheckResponse_ServingStatus } from '#gen/grpc/health/v1/health.ts';
import { createHealthService } from '../../src/io/grpc/health.ts';
import { createGrpcServer } from '../../src/io/grpc/server.ts';
import type { GrpcServer, GrpcServerOptions } from '../../src/io/grpc/types.ts';
import { silentLogger } from '../../src/io/log/logger.ts';
import { CHAT, COLLECT, EchoService, EXPAND, HANG, METADATA, STATUS, THROW, UNARY, WAIT } from '../harness/echo-service.ts';
import { type CallScript, GrpcGoClient, GrpcJsClient, playOne } from '../harness/rpc-clients.ts';
import { skipOutsideCi } from '../harness/skip-outside-ci.ts';
import { TestRoot } from '../harness/test-authority.ts';

const ALL_CODES = Array.from({ length: 17 }, (_, code) => code);
const MESSAGE = 'größe 50% von "日本",\r\n\tand %zz';
const MIB = 1024 * 1024;
const CALLS = 1_000;
/** Node, the kernel and the client's flow control window hold this much at most of what a client does not read. */
const UNREAD_BYTES = 16 * MIB;

for (const client of [new GrpcJsClient(), new GrpcGoClient()]) {
  const title = client.missing === undefined ? client.name : `${client.name} (skipped: ${client.missing})`;
  describe(`gRPC server, called by ${title}`, () => {
    let service: EchoService;
    let server: GrpcServer;

    before(function () {
      if (client.missing !== undefined) skipOutsideCi(this, client.missing);
    });
    beforeEach(async () => {
      service = new EchoService();
      server = await serve({ methods: service.methods });
    });
    afterEach(() => server.close(0));
    after(() => client.close());

    const play = (call: CallScript) => playOne(client, server, call);
    const texts = (messages: readonly Buffer[]) => messages.map(String);

    describe('calls', () => {
      it('answers a unary call, an empty message, and one of 4 MiB', async () => {
        expect(texts((await play({ path: UNARY, messages: ['hello'] })).messages)).to.deep.equal(['hello']);
        expect(texts((await play({ path: UNARY, messages: [''] })).messages)).to.deep.equal(['']);
        const big = Buffer.alloc(4 * MIB, 'xyz');
        expect((await play({ path: UNARY, messages: [big] })).messages[0]?.equals(big)).to.equal(true);
      });

      it('takes a stream of requests, none too', async () => {
        const call = { path: COLLECT, clientStreams: true };
        const { code, messages } = await play({ ...call, messages: ['a', '', 'b', 'c'] });
        expect([code, texts(messages)]).to.deep.equal([0, ['abc']]);
        expect(texts((await play({ ...call, messages: [] })).messages)).to.deep.equal(['']);
      });

      it('gives a stream of responses', async () => {
        const ask = JSON.stringify({ count: 500, size: 1000 });
        const { code, messages } = await play({ path: EXPAND, serverStreams: true, messages: [ask] });
        expect([code, messages.length, new Set(texts(messages)).size]).to.deep.equal([0, 500, 1]);
      });

      it('talks in turn, also with a client that measures the bandwidth with a ping for every message', async () => {
        const words = Array.from({ length: 1_000 }, (_, i) => `word ${i}`);
        const call = { path: CHAT, clientStreams: true, serverStreams: true, lockstep: true };
        const { code, messages } = await play({ ...call, messages: words });
        expect([code, texts(messages)]).to.deep.equal([0, words]);
      });

      it('sends many megabytes', async () => {
        const ask = JSON.stringify({ count: 400, size: MIB / 4 });
        const { code, count } = await play({ path: EXPAND, serverStreams: true, messages: [ask], countOnly: true });
        expect([code, count]).to.deep.equal([0, 400]);
      });

      it('carries metadata of both kinds, repeated keys too, in headers and trailers', async () => {
        const binary = [Buffer.from([0, 255, 44, 32]), Buffer.from('zwei')].map((bytes) => bytes.toString('base64'));
        const metadata = [...['one', 'two'].map((text) => ['x-text', text]), ...binary.map((text) => ['x-data-bin', text])];
        const { code, headers, trailers } = await play({
          path: METADATA,
          messages: [''],
          metadata: metadata as [string, string][],
        });
        expect(code).to.equal(0);
        // A client may also give the values of a key joined.
        const valuesOf = (fields: typeof headers, key: string) => fields[key]?.flatMap((value) => value.split(', '));
        expect([valuesOf(headers, 'x-text'), valuesOf(headers, 'x-data-bin')]).to.deep.equal([['one', 'two'], binary]);
        expect([valuesOf(trailers, 'x-again-text'), valuesOf(trailers, 'x-again-data-bin')]).to.deep.equal([
          ['one', 'two'],
          binary,
        ]);
      });

      it('reads compressed requests and compresses the responses', async () => {
        const text = 'all work and no play '.repeat(5_000);
        const { code, messages } = await play({ path: UNARY, gzip: true, messages: [text] });
        expect([code, texts(messages)]).to.deep.equal([0, [text]]);
        expect(service.contexts[0]?.metadata.get('grpc-encoding')).to.equal('gzip');
        const words = ['short', text, '', 'short again', text];
        const call = { path: CHAT, clientStreams: true, serverStreams: true, gzip: true };
        expect(texts((await play({ ...call, messages: words })).messages)).to.deep.equal(words);
      });
    });

    describe('endings', () => {
      for (const code of ALL_CODES) {
        it(`ends with status ${code}, a message of any characters, and details for programs`, async () => {
          const details = [{ typeUrl: 'type.googleapis.com/google.rpc.ErrorInfo', value: Buffer.from([0, 1, 254, 255]) }];
          const sent = Buffer.from(Status.encode(Status.fromPartial({ code, message: MESSAGE, details })).finish());
          const ask = { code, message: MESSAGE, details: sent.toString('base64') };
          const result = await play({ path: STATUS, messages: [JSON.stringify(ask)] });
          expect([result.code, result.message]).to.deep.equal([code, code === 0 ? '' : MESSAGE]);
          expect(result.details === undefined ? undefined : Status.decode(result.details)).to.deep.equal(
            code === 0 ? undefined : Status.decode(sent),
          );
        });
      }

      it('tells nothing of what broke inside a handler', async () => {
        const { code, message } = await play({ path: THROW, messages: [''] });
        expect([code, message]).to.deep.equal([13, 'internal error']);
      });

      for (const path of ['/mesh.test.Echo/Nothing', '/mesh.test.Nobody/Unary', '/x']) {
        it(`knows no method ${path}, though the client goes on sending`, async () => {
          expect((await play({ path, messages: [''] })).code).to.equal(12);
          expect((await play({ path, clientStreams: true, messages: ['', ''], stayOpen: true })).code).to.equal(12);
        });
      }

      it('refuses a message over the limit', async () => {
        const tooBig = Buffer.alloc(4 * MIB + 1);
        const { code, message } = await play({ path: UNARY, messages: [tooBig] });
        expect(code).to.equal(8);
        expect(message).to.contain('over the limit');
        expect((await play({ path: COLLECT, clientStreams: true, messages: ['ok', tooBig], stayOpen: true })).code).to.equal(8);
      });

      it('refuses a compressed message that unfolds to more than the limit', async () => {
        expect((await play({ path: UNARY, gzip: true, messages: [Buffer.alloc(4 * MIB + 1)] })).code).to.equal(8);
      });

      it('ends at the deadline, and the handler with it', async () => {
        const { code } = await play({ path: HANG, serverStreams: true, timeoutMs: 100 });
        expect(code).to.equal(4);
        await service.until(() => service.hanging === 0);
      });

      it('aborts the handler when the client cancels, waiting or writing', async () => {
        expect((await play({ path: HANG, serverStreams: true, cancelAfter: 1 })).code).to.equal(1);
        await service.until(() => service.hanging === 0);
        const ask = JSON.stringify({ count: 1e9, size: 1000 });
        expect((await play({ path: EXPAND, serverStreams: true, messages: [ask], cancelAfter: 3 })).code).to.equal(1);
        await service.until(() => service.expanding === 0);
      });

      // grpc-js takes everything from the transport and keeps it, so it cannot show this.
      if (client.name !== 'grpc-js') {
        it('holds little for a client that never reads', async () => {
          const size = 64 * 1024;
          const ask = JSON.stringify({ count: 1e9, size });
          const call = { path: EXPAND, serverStreams: true, neverRead: true, timeoutMs: 500 };
          expect((await play({ ...call, messages: [ask] })).code).to.equal(4);
          await service.until(() => service.expanding === 0);
          expect(service.expanded * size).to.be.lessThan(UNREAD_BYTES);
        });
      }
    });

    describe('many at once, and the end', () => {
      for (const connections of [1, CALLS]) {
        it(`serves ${CALLS} streams on ${connections} connections, and ends them as unavailable when it closes`, async () => {
          const call = { path: HANG, clientStreams: true, serverStreams: true, stayOpen: true, messages: [] };
          const results = client.play(server, call, CALLS, connections);
          await service.until(() => service.hanging === CALLS);
          await server.close(10);
          const endings = (await results).map(({ code, message, count }) => `${code} ${message} ${count}`);
          expect(new Set(endings)).to.deep.equal(new Set(['14 the server is shutting down 1']));
          expect(service.hanging).to.equal(0);
        }).timeout(120_000);
      }

      it(`outlives ${CALLS} cancellations at once on one connection`, async () => {
        const call = { path: HANG, clientStreams: true, serverStreams: true, cancelAfter: 1, stayOpen: true, messages: [] };
        const stays = play({ path: WAIT, messages: ['stays'] });
        const results = await client.play(server, call, CALLS, 1);
        expect(new Set(results.map(({ code }) => code))).to.deep.equal(new Set([1]));
        await service.until(() => service.hanging === 0);
        service.gate.resolve();
        expect(texts((await stays).messages)).to.deep.equal(['stays']);
      });

      it('lets a call that runs finish while it closes, and takes no new one', async () => {
        const running = play({ path: WAIT, messages: ['done'] });
        await service.until(() => service.waiting === 1);
        const closed = server.close(60_000);
        expect((await play({ path: UNARY, messages: ['late'] })).code).to.equal(14);
        service.gate.resolve();
        const { code, messages } = await running;
        expect([code, texts(messages)]).to.deep.equal([0, ['done']]);
        await closed;
      });
    });

    it('knows a client by its certificate, and turns away one without', async () => {
      const root = await TestRoot.create();
      const identity = await root.identity({ type: 'dns', value: 'localhost' });
      const uri = 'spiffe://cluster.local/ns/foo/sa/sleep';
      const own = await root.identity({ type: 'uri', value: uri });
      const tls = { certificate: () => identity, clientRoots: () => root.pem, requireClientCertificate: true };
      const secure = await serve({ methods: service.methods, tls });
      try {
        const trusting = { rootPem: root.pem, serverName: 'localhost' };
        const call = { path: UNARY, messages: ['hi'] };
        expect((await playOne(client, { port: secure.port, tls: { ...trusting, ...own } }, call)).code).to.equal(0);
        expect(service.contexts.map(({ peer }) => peer.certificate?.subjectAltName)).to.deep.equal([`URI:${uri}`]);
        expect((await playOne(client, { port: secure.port, tls: trusting }, call)).code).to.equal(14);
      } finally {
        await secure.close(0);
      }
    });

    it('tells its health, at once and as it changes', async () => {
      const health = createHealthService();
      const sick = await serve({ methods: health.methods });
      try {
        const ask = (name: string) => Buffer.from(HealthCheckRequest.encode({ service: name }).finish());
        const check = (name: string) => playOne(client, sick, { path: '/grpc.health.v1.Health/Check', messages: [ask(name)] });
        const watch = (name: string) => {
          const call = { path: '/grpc.health.v1.Health/Watch', serverStreams: true, cancelAfter: 1 };
          return playOne(client, sick, { ...call, messages: [ask(name)] });
        };
        const told = ({ messages }: { readonly messages: readonly Buffer[] }) =>
          messages.map((message) => HealthCheckResponse.decode(message).status);
        expect(told(await check(''))).to.deep.equal([HealthCheckResponse_ServingStatus.NOT_SERVING]);
        health.set('', 'serving');
        expect(told(await check(''))).to.deep.equal([HealthCheckResponse_ServingStatus.SERVING]);
        expect((await check('nobody')).code).to.equal(5);
        expect(told(await watch('nobody'))).to.deep.equal([HealthCheckResponse_ServingStatus.SERVICE_UNKNOWN]);
      } finally {
        await sick.close(0);
      }
    });
  });
}

async function serve(options: GrpcServerOptions): Promise<GrpcServer> {
  const server = createGrpcServer(options, silentLogger);
  await server.listen({ host: '127.0.0.1', port: 0 });
  return server;
}
