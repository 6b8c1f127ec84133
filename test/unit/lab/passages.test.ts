import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { connectProxy } from '../../../src/lab/network/connect-proxy.ts';
import { relayServer } from '../../../src/lab/network/relay.ts';
import { listenAt } from '../../../src/lab/node/passages.ts';

describe('the ways through the wall around a node', () => {
  let directory: string;
  let end: AbortController;
  let echo: Server;
  let port: number;
  const clients: Socket[] = [];

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'mesh-passages-'));
    end = new AbortController();
    // Answers only when the other side has said all that it has to say.
    echo = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => {});
      void text(socket).then(
        (said) => socket.end(`heard ${said}`),
        () => {},
      );
    });
    await once(echo.listen(0, '127.0.0.1'), 'listening');
    ({ port } = echo.address() as AddressInfo);
  });

  afterEach(() => {
    for (const client of clients.splice(0)) client.destroy();
    end.abort();
    echo.close();
    rmSync(directory, { recursive: true, force: true });
  });

  function open(path: string): Socket {
    const client = connect({ path, allowHalfOpen: true });
    clients.push(client);
    return client;
  }

  async function proxy(isAllowed: (address: string) => boolean): Promise<string> {
    const path = join(directory, 'egress.sock');
    await listenAt(connectProxy(isAllowed), path, end.signal);
    return path;
  }

  it('join a socket of the file system to a port, each direction ending for itself', async () => {
    const path = join(directory, 'relay.sock');
    await listenAt(relayServer({ host: '127.0.0.1', port }), path, end.signal);
    const client = open(path);
    client.end('hello');
    expect(await text(client)).to.equal('heard hello');
  });

  it('end a connection when there is nobody at the other end', async () => {
    const path = join(directory, 'relay.sock');
    await listenAt(relayServer({ path: join(directory, 'nobody.sock') }), path, end.signal);
    const client = connect({ path })
      .on('error', () => {})
      .resume();
    await once(client, 'close');
  });

  it('are for their user alone, and take the place of what an earlier run has left', async () => {
    const path = join(directory, 'egress.sock');
    writeFileSync(path, '');
    await proxy(() => true);
    expect(existsSync(path)).to.equal(true);
    expect(statSync(path).mode & 0o777).to.equal(0o600);
  });

  it('carry what follows a CONNECT', async () => {
    const client = open(await proxy(() => true));
    client.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
    const [answer] = await once(client, 'data');
    expect(String(answer)).to.equal('HTTP/1.1 200 OK\r\n\r\n');
    client.end('hello');
    expect(await text(client)).to.equal('heard hello');
  });

  for (const [title, request, status] of [
    ['addresses that are not of the cluster', 'CONNECT 192.0.2.1:443 HTTP/1.1', 403],
    ['names', 'CONNECT example.com:443 HTTP/1.1', 403],
    ['ports that nobody listens on', 'CONNECT 127.0.0.1:1 HTTP/1.1', 502],
    ['other requests', 'GET / HTTP/1.1', 405],
  ] as const) {
    it(`refuse ${title}`, async () => {
      const client = open(await proxy((address) => address.startsWith('127.')));
      client.write(`${request}\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect((await text(client)).split('\r\n')[0]).to.match(new RegExp(`^HTTP/1\\.1 ${status} `));
    });
  }
});
