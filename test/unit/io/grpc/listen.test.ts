import { spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { expect } from 'chai';
import { bind } from '../../../../src/io/grpc/listen.ts';

/** Prints how many of its connections are there when all are, or when no more come. */
const CONNECT = `
  const { connect } = require('node:net');
  let connected = 0;
  const end = () => { console.log(connected); process.exit(); };
  for (let i = 0; i < 1000; i++) {
    connect(Number(process.argv[1]), '127.0.0.1').on('error', () => {}).on('connect', () => { if (++connected === 1000) end(); });
  }
  setTimeout(end, 5000);
`;

describe('a listening address', () => {
  it('keeps the connections of a thousand clients that come back while the server is busy', async () => {
    const server = createServer((socket) => socket.on('error', () => {}));
    await bind(server, { host: '127.0.0.1', port: 0 });
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    // Nothing else happens in this process until the child is done.
    const { stdout } = spawnSync(process.execPath, ['-e', CONNECT, String(address.port)], { encoding: 'utf8' });
    server.close();
    expect(stdout).to.equal('1000\n');
  }).timeout(120_000);
});
