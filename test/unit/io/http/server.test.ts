import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { createHttpServer } from '../../../../src/io/http/server.ts';
import type { HttpServer, HttpServerOptions } from '../../../../src/io/http/types.ts';
import { MeshError } from '../../../../src/lib/errors.ts';

describe('HTTP server', () => {
  const servers: HttpServer[] = [];
  const start = async (options: HttpServerOptions): Promise<{ server: HttpServer; url: string }> => {
    const server = createHttpServer(options);
    servers.push(server);
    await server.listen({ host: '127.0.0.1', port: 0 });
    return { server, url: `http://127.0.0.1:${server.port}` };
  };

  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close(0)));
  });

  it('gives the handler method, path, query, headers and body', async () => {
    const { url } = await start({
      handle: async (request) => ({
        status: 201,
        headers: { 'x-seen': request.headers.get('x-probe') ?? '' },
        body: `${request.method} ${request.path} ${request.query.get('q')} ${await request.body()}`,
      }),
    });
    const response = await fetch(`${url}/a/b?q=1`, { method: 'POST', body: 'hello', headers: { 'X-Probe': 'yes' } });
    expect([response.status, response.headers.get('x-seen'), await response.text()]).to.deep.equal([
      201,
      'yes',
      'POST /a/b 1 hello',
    ]);
  });

  it('streams a body that comes in pieces', async () => {
    const { url } = await start({
      handle: () => ({
        status: 200,
        body: (async function* () {
          yield 'one ';
          yield Buffer.from('two');
        })(),
      }),
    });
    expect(await (await fetch(url)).text()).to.equal('one two');
  });

  it('answers a MeshError with the status of its code and hides what is internal', async () => {
    const errors: string[] = [];
    const { url } = await start({
      handle: (request) => {
        throw request.path === '/missing' ? new MeshError('not_found', 'no such proxy') : new Error('secret detail');
      },
      onError: (error) => errors.push(error.message),
    });
    const missing = await fetch(`${url}/missing`);
    const broken = await fetch(url);
    expect([missing.status, await missing.text()]).to.deep.equal([404, 'no such proxy\n']);
    expect([broken.status, await broken.text()]).to.deep.equal([500, 'internal error\n']);
    expect(errors).to.deep.equal(['secret detail']);
  });

  for (const [name, body] of [
    ['announced', 'x'.repeat(100)],
    ['chunked', new Blob(['x'.repeat(100)]).stream()],
  ] as const) {
    it(`refuses a body over the limit, ${name}`, async () => {
      const { url } = await start({ maxBodySize: 10, handle: async (request) => ({ status: 200, body: await request.body() }) });
      const response = await fetch(url, { method: 'POST', body, duplex: 'half' });
      expect(response.status).to.equal(413);
    });
  }

  it('closes connections over the limit', async () => {
    const { server } = await start({ maxConnections: 1, handle: () => ({ status: 200 }) });
    const first = connect(server.port, '127.0.0.1');
    await once(first, 'connect');
    const second = connect(server.port, '127.0.0.1');
    await once(second, 'close');
    expect(first.destroyed).to.equal(false);
    first.destroy();
  });

  it('lets a running request finish when it closes', async () => {
    const running = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const { server, url } = await start({
      handle: async () => {
        running.resolve();
        await finish.promise;
        return { status: 200, body: 'whole' };
      },
    });
    const response = fetch(url);
    await running.promise;
    const closed = server.close(60_000);
    finish.resolve();
    expect(await (await response).text()).to.equal('whole');
    await closed;
  });

  it('cuts what does not finish in the grace time, telling the handler', async () => {
    const running = Promise.withResolvers<AbortSignal>();
    const { server, url } = await start({
      handle: (request) => {
        running.resolve(request.signal);
        return new Promise(() => {});
      },
    });
    const failed = fetch(url).then(
      () => 'answered',
      () => 'cut',
    );
    const signal = await running.promise;
    await server.close(1);
    expect(await failed).to.equal('cut');
    expect(signal.aborted).to.equal(true);
  });

  it('watches over connections that another listener accepted as over its own', async () => {
    const server = createHttpServer({ handle: () => ({ status: 200, body: 'ok' }), requestTimeoutMs: 50 });
    servers.push(server);
    const listener = createServer((socket) => server.accept(socket)).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const idle = connect(Number((listener.address() as AddressInfo).port), '127.0.0.1');
    idle.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await once(idle, 'data');
    const closed = once(idle, 'close');
    listener.close();
    await server.close(60_000);
    await closed;
  });

  it('says which address is taken', async () => {
    const { server } = await start({ handle: () => ({ status: 200 }) });
    const second = createHttpServer({ handle: () => ({ status: 200 }) });
    const error = await second.listen({ host: '127.0.0.1', port: server.port }).catch(MeshError.from);
    expect(error).to.be.instanceOf(MeshError);
    expect(String(error)).to.contain(`cannot listen on 127.0.0.1:${server.port}: the address is in use`);
  });

  it('refuses what is not HTTP', async () => {
    const { server } = await start({ handle: () => ({ status: 200 }) });
    const socket = connect(server.port, '127.0.0.1');
    socket.write('\x16\x03\x01 not http\r\n\r\n');
    expect(await text(socket)).to.match(/^HTTP\/1.1 400 /);
  });
});
