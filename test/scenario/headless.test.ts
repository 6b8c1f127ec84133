import { execFile } from 'node:child_process';
import { expect } from 'chai';
import { type LoopbackProxy, startLoopbackProxy } from '../harness/loopback-proxy.ts';
import { TestRoot } from '../harness/test-authority.ts';

const STRICT = `
apiVersion: authentication.mesh.io/v1alpha1
kind: Policy
metadata: {name: default, namespace: foo}
spec: {peers: [{mtls: {}}]}
`;

/** The status that curl reports, and its exit code. */
function curl(url: string): Promise<string> {
  return new Promise((resolve) => {
    execFile('curl', ['-s', '-o', '/dev/null', '-w', '%{http_code}', '--max-time', '8', url], (error, stdout) =>
      resolve(`${stdout} ${typeof error?.code === 'number' ? error.code : 0}`),
    );
  });
}

describe('a headless service behind a real Envoy', () => {
  let root: TestRoot;
  let proxy: LoopbackProxy | undefined;
  before(async () => {
    root = await TestRoot.create(new Date());
  });
  afterEach(() => proxy?.close());

  for (const portName of ['tcp', 'http']) {
    it(`is reached by mutual TLS on a port named ${portName}, and by nothing else where that is required`, async () => {
      proxy = await startLoopbackProxy({ root, policies: STRICT, portName, headless: true });
      expect(await curl(`http://127.0.0.1:${proxy.inboundPort}/`)).to.equal('000 56');
      expect(await curl(`http://127.0.0.1:${proxy.outboundPort}/hello`)).to.equal('200 0');
      expect(proxy.seen.map(({ url }) => url)).to.deep.equal(['/hello']);
      expect(await proxy.stats('cluster.outbound.*ssl.handshake')).to.match(/handshake: 1$/m);
    });
  }
});
