import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import * as grpc from '@grpc/grpc-js';
import { expect } from 'chai';
import { createGrpcServer } from '../../../../src/io/grpc/server.ts';
import type { CallContext, GrpcServerOptions, Method } from '../../../../src/io/grpc/types.ts';
import { silentLogger } from '../../../../src/io/log/logger.ts';
import { MeshError } from '../../../../src/lib/errors.ts';
import { TestRoot } from '../../../harness/test-authority.ts';
import { Bench, call, FAST_KEEPALIVE } from './peers.ts';

const ECHO = '/test.Echo/Unary';

interface Identity {
  readonly keyPem: string;
  readonly chainPem: string;
}

describe('gRPC server over TLS', () => {
  const bench = new Bench();
  const seen: CallContext[] = [];
  let root: TestRoot;
  let otherRoot: TestRoot;
  let serverIdentity: Identity;
  const handle = async (request: Uint8Array, context: CallContext) => {
    seen.push(context);
    return request;
  };
  const echo: Method = { type: 'unary', path: ECHO, handle };
  const forServer = (authority: TestRoot) => authority.identity({ type: 'dns', value: 'localhost' });
  const forClient = (authority: TestRoot) => authority.identity({ type: 'uri', value: 'spiffe://cluster.local/ns/foo/sa/sleep' });

  before(async () => {
    root = await TestRoot.create();
    otherRoot = await TestRoot.create();
  });
  beforeEach(async () => {
    seen.length = 0;
    serverIdentity = await forServer(root);
  });
  afterEach(() => bench.close());

  function serve(tls: Partial<NonNullable<GrpcServerOptions['tls']>> = {}, keepalive?: GrpcServerOptions['keepalive']) {
    const options = { methods: [echo], tls: { certificate: () => serverIdentity, ...tls } };
    return bench.serve(keepalive === undefined ? options : { ...options, keepalive });
  }

  async function outcome(server: Awaited<ReturnType<typeof serve>>, authority: TestRoot, identity?: Identity) {
    const key = identity === undefined ? [] : [Buffer.from(identity.keyPem), Buffer.from(identity.chainPem)];
    const credentials = grpc.credentials.createSsl(Buffer.from(authority.pem), ...key);
    const client = bench.client(server, credentials, { 'grpc.ssl_target_name_override': 'localhost' });
    return (await call(client, ECHO, 'hi', { deadline: Date.now() + 5_000 })).code;
  }

  it('proves itself and knows who calls', async () => {
    const server = await serve({ clientRoots: () => root.pem });
    expect(await outcome(server, root, await forClient(root))).to.equal(0);
    expect(seen[0]?.peer.certificate?.subjectAltName).to.equal('URI:spiffe://cluster.local/ns/foo/sa/sleep');
    expect(await outcome(server, root)).to.equal(0);
    expect(seen[1]?.peer.certificate).to.equal(undefined);
  });

  it('asks for no certificate unless told whom to trust', async () => {
    const server = await serve();
    expect(await outcome(server, root, await forClient(otherRoot))).to.equal(0);
    expect(seen[0]?.peer.certificate).to.equal(undefined);
  });

  it('refuses a certificate of another root even where none is required, and none where one is', async () => {
    const optional = await serve({ clientRoots: () => root.pem });
    expect(await outcome(optional, root, await forClient(otherRoot))).to.equal(14);
    const required = await serve({ clientRoots: () => root.pem, requireClientCertificate: true });
    expect(await outcome(required, root)).to.equal(14);
    expect(await outcome(required, root, await forClient(root))).to.equal(0);
    expect(seen).to.have.length(1);
  });

  it('shows new connections the certificate of now, trusts the roots of now, and keeps the last good ones', async () => {
    let roots = root.pem;
    const server = await serve({ clientRoots: () => roots, requireClientCertificate: true });
    expect(await outcome(server, root, await forClient(root))).to.equal(0);
    serverIdentity = await forServer(otherRoot);
    roots = otherRoot.pem;
    expect(await outcome(server, otherRoot, await forClient(otherRoot))).to.equal(0);
    expect(await outcome(server, otherRoot, await forClient(root))).to.equal(14);
    serverIdentity = { keyPem: 'broken', chainPem: 'broken' };
    expect(await outcome(server, otherRoot, await forClient(otherRoot))).to.equal(0);
  });

  it('says so when the first certificate cannot be used', async () => {
    const tls = { certificate: () => ({ keyPem: 'broken', chainPem: 'broken' }) };
    const server = createGrpcServer({ methods: [echo], tls }, silentLogger);
    const error = MeshError.from(await server.listen({ host: '127.0.0.1', port: 0 }).catch((thrown) => thrown));
    expect(error.code).to.equal('invalid');
    expect(error.message).to.contain('the TLS certificate cannot be used');
  });

  it('drops who begins a handshake and does not go on, and serves others meanwhile', async () => {
    const server = await serve({}, FAST_KEEPALIVE);
    const openings = [Buffer.alloc(0), Buffer.from([22, 3, 1, 1, 0]), Buffer.from([22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3])];
    const sockets = openings.map((opening) => {
      const socket = connectTcp(server.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.resume();
      socket.write(opening);
      return socket;
    });
    const closed = Promise.all(sockets.map((socket) => once(socket, 'close')));
    expect(await outcome(server, root)).to.equal(0);
    await closed;
  });

  it('drops who speaks no TLS', async () => {
    const server = await serve();
    const socket = connectTcp(server.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    socket.resume();
    await once(socket, 'close');
  });
});
