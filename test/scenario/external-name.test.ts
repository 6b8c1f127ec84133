import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type Server, connect as tlsConnect } from 'node:tls';
import { expect } from 'chai';
import { Bootstrap } from '#gen/envoy/config/bootstrap/v3/bootstrap.ts';
import { envoyPath } from '../../src/lib/envoy-path.ts';
import { tcpAddress } from '../../src/xds/address.ts';
import { proxyResources, staticBootstrap } from '../harness/envoy-validate.ts';
import { freePort } from '../harness/free-port.ts';
import { snapshotOfManifests, testTranslator } from '../harness/mesh-input.ts';
import { eventually } from '../harness/sidecar.ts';
import { TestRoot } from '../harness/test-authority.ts';

const manifests = (port: number): string => `
apiVersion: v1
kind: Service
metadata: {name: bank, namespace: foo}
spec: {type: ExternalName, externalName: localhost, ports: [{name: https, port: ${port}}]}
`;

describe('an external TLS service behind a real Envoy', () => {
  let root: TestRoot;
  let server: Server;
  let folder: string;
  let envoy: ChildProcess;
  let port: number;

  before(async () => {
    root = await TestRoot.create(new Date());
    const { keyPem, chainPem } = await root.identity({ type: 'uri', value: 'spiffe://elsewhere/bank' });
    server = createServer({ key: keyPem, cert: chainPem }, (socket) => socket.on('error', () => {}).end('hello'));
    server.on('tlsClientError', () => {});
    server.listen(0, 'localhost');
    await once(server, 'listening');
    folder = await mkdtemp(join(tmpdir(), 'mesh-external-'));
    port = await freePort();
    const file = join(folder, 'bootstrap.pb');
    await writeFile(file, Bootstrap.encode(bootstrapFor((server.address() as AddressInfo).port)).finish());
    const args = ['-c', file, '--use-dynamic-base-id', '--concurrency', '1', '--log-level', 'error'];
    envoy = spawn(envoyPath(process.env), args, { stdio: ['ignore', 'ignore', 'inherit'] });
    await eventually('an answer', async () => (await say('bank.foo')) === 'hello');
  });
  after(async () => {
    const gone = once(envoy, 'exit');
    envoy.kill('SIGKILL');
    await gone;
    server.close();
    await rm(folder, { recursive: true });
  });

  /** The listener of the service, bound to a port of its own, and what it leads to. */
  function bootstrapFor(target: number): Bootstrap {
    const node = { id: 'sidecar~127.0.0.1~web-1.foo~foo.svc.cluster.local', cluster: 'test', metadata: {} };
    const made = staticBootstrap(proxyResources(testTranslator(), snapshotOfManifests(manifests(target)), node)).staticResources;
    const listeners = made?.listeners.filter(({ name }) => name === `0.0.0.0_${target}`) ?? [];
    return Bootstrap.fromPartial({
      staticResources: {
        clusters: made?.clusters ?? [],
        listeners: listeners.map((listener) => ({ ...listener, bindToPort: true, address: tcpAddress('127.0.0.1', port) })),
      },
    });
  }

  /** What the server says to a caller that asks for this name. */
  function say(servername: string): Promise<string> {
    return new Promise((resolve) => {
      let said = '';
      const socket = tlsConnect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false });
      socket.on('data', (chunk: Buffer) => {
        said += chunk.toString();
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve(said));
    });
  }

  it('is reached by its name and by that of the service, and by no other', async () => {
    expect(await say('localhost')).to.equal('hello');
    expect(await say('bank.foo.svc.cluster.local')).to.equal('hello');
    expect(await say('elsewhere.example')).to.equal('');
  });
});
