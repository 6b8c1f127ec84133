import { expect } from 'chai';
import { HealthCheckRequest, HealthCheckResponse } from '#gen/grpc/health/v1/health.ts';
import { unaryCall } from '../../../../src/io/grpc/client.ts';
import { createHealthService } from '../../../../src/io/grpc/health.ts';
import type { GrpcServer, Method } from '../../../../src/io/grpc/types.ts';
import { type Duration, milliseconds, seconds } from '../../../../src/lib/duration.ts';
import { MeshError } from '../../../../src/lib/errors.ts';
import { Bench, bidi } from './peers.ts';

const CHECK = '/grpc.health.v1.Health/Check';

describe('gRPC client and health service', () => {
  const bench = new Bench();
  afterEach(() => bench.close());

  function check(server: GrpcServer, service: string, options: { deadline?: Duration; signal?: AbortSignal } = {}) {
    return unaryCall({
      address: `127.0.0.1:${server.port}`,
      path: CHECK,
      request: { service },
      requestCodec: HealthCheckRequest,
      responseCodec: HealthCheckResponse,
      metadata: { authorization: 'Bearer x' },
      deadline: options.deadline ?? seconds(5),
      signal: options.signal ?? new AbortController().signal,
    });
  }

  async function codeOf(work: Promise<unknown>): Promise<string> {
    return await work.then(
      () => 'ok',
      (thrown) => (thrown instanceof MeshError ? thrown.code : String(thrown)),
    );
  }

  it('answers checks of the server and of its services', async () => {
    const health = createHealthService();
    const server = await bench.serve({ methods: health.methods });
    expect((await check(server, '')).status).to.equal(2);
    health.set('', 'serving');
    health.set('ca', 'serving');
    expect((await check(server, '')).status).to.equal(1);
    expect((await check(server, 'ca')).status).to.equal(1);
    expect(await codeOf(check(server, 'other'))).to.equal('not_found');
  });

  it('tells a watcher every change, and a service it learns of later', async () => {
    const health = createHealthService();
    const server = await bench.serve({ methods: health.methods });
    const stream = bidi(bench.client(server), '/grpc.health.v1.Health/Watch');
    stream.on('error', () => {});
    const answers = stream.iterator({ destroyOnReturn: false });
    const next = async () => HealthCheckResponse.decode((await answers.next()).value).status;
    stream.write(Buffer.from(HealthCheckRequest.encode({ service: 'ca' }).finish()));
    expect(await next()).to.equal(3);
    health.set('ca', 'serving');
    expect(await next()).to.equal(1);
    health.set('other', 'serving');
    health.set('ca', 'not_serving');
    expect(await next()).to.equal(2);
    stream.cancel();
  });

  it('refuses a request that is no such message', async () => {
    const health = createHealthService();
    const server = await bench.serve({ methods: health.methods });
    const garbage = { encode: () => ({ finish: () => Uint8Array.of(0x0a, 0xff) }), decode: () => ({}) };
    const work = unaryCall({
      address: `127.0.0.1:${server.port}`,
      path: CHECK,
      request: {},
      requestCodec: garbage,
      responseCodec: HealthCheckResponse,
      deadline: seconds(5),
      signal: new AbortController().signal,
    });
    expect(await codeOf(work)).to.equal('invalid');
  });

  it('gives up at the deadline, when cancelled, and when nobody listens', async () => {
    const started = Promise.withResolvers<void>();
    const method: Method = {
      type: 'unary',
      path: CHECK,
      handle: () => {
        started.resolve();
        return new Promise(() => {});
      },
    };
    const server = await bench.serve({ methods: [method] });
    expect(await codeOf(check(server, '', { deadline: milliseconds(50) }))).to.equal('deadline_exceeded');
    const controller = new AbortController();
    const work = codeOf(check(server, '', { signal: controller.signal }));
    await started.promise;
    controller.abort();
    expect(await work).to.equal('cancelled');
    expect(await codeOf(check(server, '', { signal: controller.signal }))).to.equal('cancelled');
    await server.close(0);
    expect(await codeOf(check(server, ''))).to.equal('unavailable');
  });
});
