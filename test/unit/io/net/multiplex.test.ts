import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import http2 from 'node:http2';
import { get as httpsGet } from 'node:https';
import { connect, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { expect } from 'chai';
import { handOver, listenMultiplexed, type MultiplexedServer } from '../../../../src/io/net/multiplex.ts';
import { milliseconds, seconds } from '../../../../src/lib/duration.ts';
import { TestRoot } from '../../../harness/test-authority.ts';

const LOOPBACK = '127.0.0.1';
const PATIENCE = seconds(60);

describe('one port for HTTP/1 and HTTP/2', () => {
  const http1 = createServer((_request, response) => response.end('one'));
  const h2 = http2.createServer((_request, response) => response.end('two'));
  let server: MultiplexedServer;

  before(async () => {
    const protocols = {
      http1: (socket: Socket) => void http1.emit('connection', socket),
      http2: (socket: Socket) => void h2.emit('connection', socket),
    };
    server = await listenMultiplexed({ host: LOOPBACK, port: 0 }, protocols, PATIENCE);
  });

  after(async () => {
    await server.close();
    http1.closeAllConnections();
  });

  it('answers an HTTP/1 request', async () => {
    const response = await fetch(`http://${LOOPBACK}:${server.port}/`);
    expect(await response.text()).to.equal('one');
  });

  it('answers an HTTP/2 request with prior knowledge', async () => {
    const session = http2.connect(`http://${LOOPBACK}:${server.port}`);
    const stream = session.request({ ':path': '/' });
    let body = '';
    for await (const chunk of stream) body += chunk;
    session.close();
    expect(body).to.equal('two');
  });

  it('recognises the preface when it comes byte by byte', async () => {
    const socket = connect(server.port, LOOPBACK);
    socket.setNoDelay(true);
    for (const byte of Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')) {
      await new Promise((resolve) => socket.write(Buffer.of(byte), resolve));
    }
    socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
    const [chunk] = await once(socket, 'data');
    socket.destroy();
    expect(chunk[3]).to.equal(4);
  });

  it('hands on a TLS handshake, and what is said within it, from the first byte', async () => {
    const root = await TestRoot.create();
    const { keyPem, chainPem } = await root.identity({ type: 'ip', value: LOOPBACK });
    const withinTls = { http1: (socket: Socket) => void http1.emit('connection', socket) };
    const tls = createTlsServer({ key: keyPem, cert: chainPem, ALPNProtocols: ['http/1.1'] }, (socket) =>
      handOver(socket, withinTls, PATIENCE),
    );
    const protocols = { tls: (socket: Socket) => void tls.emit('connection', socket) };
    const secured = await listenMultiplexed({ host: LOOPBACK, port: 0 }, protocols, PATIENCE);
    const asked = httpsGet({ host: LOOPBACK, port: secured.port, ca: root.pem, agent: false });
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    expect(Buffer.concat(await response.toArray()).toString()).to.equal('one');
    // Nobody takes plain HTTP there.
    await fetch(`http://${LOOPBACK}:${secured.port}/`).then(
      () => expect.fail('plain HTTP was answered'),
      () => {},
    );
    await secured.close();
  });

  it('closes a connection that says nothing', async () => {
    const hasty = await listenMultiplexed({ host: LOOPBACK, port: 0 }, { http1() {}, http2() {} }, milliseconds(50));
    const socket = connect(hasty.port, LOOPBACK);
    await once(socket, 'close');
    await hasty.close();
  });

  it('names the address that is in use', async () => {
    const again = listenMultiplexed({ host: LOOPBACK, port: server.port }, { http1() {}, http2() {} }, PATIENCE);
    const error = await again.then(
      () => undefined,
      (reason: Error) => reason,
    );
    expect(error?.message).to.include(`${LOOPBACK}:${server.port}: the address is in use`);
  });
});
