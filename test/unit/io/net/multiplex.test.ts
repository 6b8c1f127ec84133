import { once } from 'node:events';
import { createServer } from 'node:http';
import http2 from 'node:http2';
import { connect } from 'node:net';
import { expect } from 'chai';
import { listenMultiplexed, type MultiplexedServer } from '../../../../src/io/net/multiplex.ts';
import { milliseconds } from '../../../../src/lib/duration.ts';

const LOOPBACK = '127.0.0.1';

describe('one port for HTTP/1 and HTTP/2', () => {
  const http1 = createServer((_request, response) => response.end('one'));
  const h2 = http2.createServer((_request, response) => response.end('two'));
  let server: MultiplexedServer;

  before(async () => {
    const protocols = {
      http1: (socket: import('node:net').Socket) => void http1.emit('connection', socket),
      http2: (socket: import('node:net').Socket) => void h2.emit('connection', socket),
    };
    server = await listenMultiplexed({ host: LOOPBACK, port: 0 }, protocols, milliseconds(200));
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

  it('closes a connection that says nothing', async () => {
    const socket = connect(server.port, LOOPBACK);
    await once(socket, 'close');
  });

  it('names the address that is in use', async () => {
    const again = listenMultiplexed({ host: LOOPBACK, port: server.port }, { http1() {}, http2() {} }, milliseconds(200));
    const error = await again.then(
      () => undefined,
      (reason: Error) => reason,
    );
    expect(error?.message).to.include(`${LOOPBACK}:${server.port}: the address is in use`);
  });
});
