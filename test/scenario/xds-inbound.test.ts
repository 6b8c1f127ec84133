import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { expect } from 'chai';
import { type LoopbackOptions, type LoopbackProxy, startLoopbackProxy } from '../harness/loopback-proxy.ts';
import { TestRoot } from '../harness/test-authority.ts';
import { claims, jwksOf, rawToken, signToken, tokenKey } from '../harness/tokens.ts';

/** Runs curl as the specification does: the status it reports and its exit code. */
function curl(url: string, ...args: readonly string[]): Promise<{ status: string; exit: number }> {
  return new Promise((resolve) => {
    execFile('curl', ['-s', '-o', '/dev/null', '-w', '%{http_code}', '--max-time', '8', ...args, url], (error, stdout) => {
      resolve({ status: stdout, exit: typeof error?.code === 'number' ? error.code : 0 });
    });
  });
}

/** A counter of Envoy's; 0 while it has not counted. */
async function counted(proxy: LoopbackProxy | undefined, name: string): Promise<number> {
  const text = await proxy?.stats(name);
  return [...(text ?? '').matchAll(/: (\d+)$/gm)].reduce((sum, [, value]) => sum + Number(value), 0);
}
const waitedForFirstBytes = (proxy: LoopbackProxy | undefined) => counted(proxy, 'downstream_pre_cx_timeout');
const handshakes = (proxy: LoopbackProxy | undefined) => counted(proxy, '^listener.*ssl.handshake');

const policy = (spec: string): string => `
apiVersion: authentication.mesh.io/v1alpha1
kind: Policy
metadata: {name: httpbin, namespace: foo}
spec: ${spec}
`;

const OK = { status: '200', exit: 0 };
const RESET = { status: '000', exit: 56 };
const UNAUTHORIZED = { status: '401', exit: 0 };

describe('a real Envoy with a translated configuration', () => {
  const key = tokenKey('k1', 'RS256');
  const otherKey = tokenKey('k1', 'RS256');
  const unknownKey = tokenKey('k2', 'RS256');
  const now = new Date();
  const token = (changes = {}, by = key) => signToken(by, claims({ aud: ['httpbin'], ...changes }, now));
  const bearer = (text: string) => ['-H', `Authorization: Bearer ${text}`];
  let root: TestRoot;
  let proxy: LoopbackProxy | undefined;

  before(async () => {
    root = await TestRoot.create(now);
  });
  afterEach(async () => {
    await proxy?.close();
    proxy = undefined;
  });

  const start = async (spec: string, more: Pick<LoopbackOptions, 'portName' | 'mesh' | 'greeting'> = {}) => {
    proxy = await startLoopbackProxy({ root, policies: spec === '' ? '' : policy(spec), ...more });
  };
  const direct = (path: string, ...args: readonly string[]) => curl(`http://127.0.0.1:${proxy?.inboundPort}${path}`, ...args);
  const viaMesh = (path: string, ...args: readonly string[]) =>
    curl(
      `http://127.0.0.1:${proxy?.outboundPort}${path}`,
      ...(args.join().includes('Host:') ? [] : ['-H', 'Host: httpbin.foo:8000']),
      ...args,
    );

  const jwt = (more = '') => `{jwt: {issuer: 'https://issuer.test', jwks: '${jwksOf(key)}', audiences: [httpbin]${more}}}`;

  it('without a policy, accepts plaintext and the mesh’s mutual TLS, and says who called', async () => {
    await start('');
    expect(await direct('/plain', '-H', 'x-forwarded-client-cert: By=forged')).to.deep.equal(OK);
    expect(await viaMesh('/mesh')).to.deep.equal(OK);
    expect(proxy?.seen.map(({ url }) => url)).to.deep.equal(['/plain', '/mesh']);
    expect(proxy?.seen[0]?.clientCert).to.equal(undefined);
    expect(proxy?.seen[1]?.clientCert).to.include('URI=spiffe://cluster.local/ns/foo/sa/httpbin');
  });

  it('resets plaintext where mutual TLS is required, and serves the mesh', async () => {
    await start('{peers: [{mtls: {}}]}');
    expect(await direct('/')).to.deep.equal(RESET);
    expect(await viaMesh('/')).to.deep.equal(OK);
    expect((await curl(`https://127.0.0.1:${proxy?.inboundPort}/`, '-k')).status).to.equal('000');
  });

  it('does the same on raw TCP ports', async () => {
    await start('{peers: [{mtls: {}}]}', { portName: 'tcp' });
    expect(await direct('/')).to.deep.equal(RESET);
  });

  it('obeys the mesh configuration', async () => {
    await start('', { mesh: 'authPolicy: MUTUAL_TLS' });
    expect(await direct('/')).to.deep.equal(RESET);
    expect(await viaMesh('/')).to.deep.equal(OK);
  });

  it('answers hosts that are no service with 502', async () => {
    await start('');
    expect((await viaMesh('/', '-H', 'Host: elsewhere.example')).status).to.equal('502');
  });

  it('checks tokens', async () => {
    await start(`{origins: [${jwt()}]}`);
    const header = { alg: 'none' };
    const rows: [string, readonly string[], string][] = [
      ['no token', [], '401'],
      ['a valid token', bearer(token()), '200'],
      ['expired', bearer(token({ exp: Math.floor(now.getTime() / 1000) - 120 })), '401'],
      ['wrong issuer', bearer(token({ iss: 'https://other.test' })), '401'],
      ['bad signature', bearer(token({}, otherKey)), '401'],
      ['unknown key', bearer(token({}, unknownKey)), '401'],
      ['alg none', bearer(rawToken(header, claims({ aud: ['httpbin'] }, now))), '401'],
      ['garbage', bearer('garbage'), '401'],
      ['wrong audience', bearer(token({ aud: ['other'] })), '403'],
    ];
    for (const [name, args, status] of rows) expect((await direct('/', ...args)).status, name).to.equal(status);
    expect((await viaMesh('/', ...bearer(token()))).status).to.equal('200');
    expect(await viaMesh('/')).to.deep.equal(UNAUTHORIZED);
    const tls = await curl(`https://127.0.0.1:${proxy?.inboundPort}/`, '-k');
    expect(tls.status, 'an application’s own TLS would pass unchecked').to.equal('000');
  });

  it('lets requests without a token pass where it is optional, and no others', async () => {
    await start(`{originIsOptional: true, origins: [${jwt()}]}`);
    const rows: [string, readonly string[], string][] = [
      ['no token', [], '200'],
      ['a valid token', bearer(token()), '200'],
      ['expired', bearer(token({ exp: Math.floor(now.getTime() / 1000) - 120 })), '401'],
      ['unknown issuer', bearer(token({ iss: 'https://other.test' }, otherKey)), '401'],
      ['no issuer', bearer(token({ iss: undefined }, otherKey)), '401'],
      ['bad signature', bearer(token({}, otherKey)), '401'],
      ['alg none', bearer(rawToken({ alg: 'none' }, claims({ iss: 'https://other.test' }, now))), '401'],
      ['garbage', bearer('garbage'), '401'],
      ['wrong audience', bearer(token({ aud: ['other'] })), '403'],
    ];
    for (const [name, args, status] of rows) expect((await direct('/', ...args)).status, name).to.equal(status);
    const inQuery = `/?access_token=${token({ iss: 'https://other.test' }, otherKey)}`;
    expect((await direct(inQuery)).status, 'unknown issuer in the query').to.equal('401');
  });

  it('looks for bad tokens of every origin, in every place, where tokens are optional', async () => {
    const second = `{jwt: {issuer: 'https://second.test', jwks: '${jwksOf(unknownKey)}', jwtHeaders: [x-token]}}`;
    await start(`{originIsOptional: true, origins: [${jwt()}, ${second}]}`);
    const stranger = token({ iss: 'https://other.test' }, otherKey);
    const ofSecond = token({ iss: 'https://second.test' }, unknownKey);
    const rows: [string, readonly string[], string][] = [
      ['no token', [], '200'],
      ['the first origin’s', bearer(token()), '200'],
      ['the second origin’s, in its header', ['-H', `x-token: ${ofSecond}`], '200'],
      ['the second origin’s, in a place that is not its own', bearer(ofSecond), '401'],
      ['a stranger’s', bearer(stranger), '401'],
      ['a stranger’s in the header', ['-H', `x-token: ${stranger}`], '401'],
      ['a forged one in the header', ['-H', `x-token: ${token({ iss: 'https://second.test' }, otherKey)}`], '401'],
    ];
    for (const [name, args, status] of rows) expect((await direct('/', ...args)).status, name).to.equal(status);
  });

  it('answers 401 while a key set was never fetched, and keeps mutual TLS in force', async () => {
    const origin = "{jwt: {issuer: 'https://issuer.test', jwksUri: 'https://issuer.test/jwks'}}";
    await start(`{peers: [{mtls: {}}], origins: [${origin}], principalBinding: USE_ORIGIN}`);
    expect(await direct('/', ...bearer(token()))).to.deep.equal(RESET);
    expect(await viaMesh('/', ...bearer(token()))).to.deep.equal(UNAUTHORIZED);
    expect(await viaMesh('/')).to.deep.equal(UNAUTHORIZED);
  });

  it('answers 401 to everything when the principal is to come from no origin at all', async () => {
    await start('{peers: [{mtls: {}}], principalBinding: USE_ORIGIN}');
    expect(await viaMesh('/', ...bearer(token()))).to.deep.equal(UNAUTHORIZED);
    expect(await direct('/')).to.deep.equal(RESET);
  });

  it('asks for tokens by path, whatever the query says', async () => {
    const rules =
      ", triggerRules: [{includedPaths: [{prefix: /api}], excludedPaths: [{exact: /api/health}, {regex: '/api/.*/open'}]}]";
    await start(`{origins: [${jwt(rules)}]}`);
    const rows: [string, string][] = [
      ['/', '200'],
      ['/api', '401'],
      ['/api/x', '401'],
      ['/api/health', '200'],
      ['/api/health?x=1', '200'],
      ['/api/health/x', '401'],
      ['/api/x/open', '200'],
      ['/api/x/open?y', '200'],
      ['/api/x?/open', '401'],
      ['/api/x?y=/api/health', '401'],
      ['/api/health/../x', '401'],
      ['//api/x', '401'],
      ['/x/..%2Fapi/x', '401'],
    ];
    for (const [path, status] of rows) expect((await direct(path, '--path-as-is')).status, path).to.equal(status);
  });

  describe('with a server that speaks first', () => {
    const GREETING = '220 ready\n';
    /** What a client hears that says nothing. */
    const listenTo = (port: number | undefined): Promise<string> =>
      new Promise((resolve) => {
        const socket = connect({ host: '127.0.0.1', port: port ?? 0 });
        const finish = (heard: string) => {
          socket.destroy();
          resolve(heard);
        };
        socket.setTimeout(10_000, () => finish('silence'));
        socket.on('data', (chunk) => finish(chunk.toString()));
        socket.on('error', () => finish('reset'));
        socket.on('close', () => finish('closed'));
      });
    /** The mesh's own TLS, as a client with a certificate but no proxy would speak it. */
    const listenSecurely = async (port: number | undefined, servername: string): Promise<string> => {
      const { keyPem, chainPem } = await root.identity({ type: 'uri', value: 'spiffe://cluster.local/ns/foo/sa/client' });
      return new Promise((resolve) => {
        const mesh = { key: keyPem, cert: chainPem, ca: root.pem, ALPNProtocols: ['mesh'], servername };
        const socket = tlsConnect({ host: '127.0.0.1', port: port ?? 0, checkServerIdentity: () => undefined, ...mesh });
        const finish = (heard: string) => {
          socket.destroy();
          resolve(heard);
        };
        socket.on('data', (chunk) => finish(chunk.toString()));
        socket.on('error', () => finish('refused'));
        socket.on('close', () => finish('closed'));
      });
    };
    const NAME = 'outbound_.8000_._.httpbin.foo.svc.cluster.local';

    for (const portName of ['mysql', 'tcp-mail', 'smtp']) {
      it(`lets plaintext clients of a port named ${portName} hear it at once, and those of the mesh`, async () => {
        await start('', { portName, greeting: GREETING });
        expect(await listenTo(proxy?.inboundPort)).to.equal(GREETING);
        expect(await waitedForFirstBytes(proxy), 'connections whose first bytes were waited for').to.equal(0);
        expect(await listenTo(proxy?.outboundPort), 'through the client’s own proxy, by mutual TLS').to.equal(GREETING);
        expect(await handshakes(proxy)).to.equal(1);
      });
    }

    it('keeps to mutual TLS where that is required', async () => {
      await start('{peers: [{mtls: {}}]}', { portName: 'mysql', greeting: GREETING });
      expect(await listenTo(proxy?.inboundPort)).to.be.oneOf(['closed', 'reset']);
      expect(await listenTo(proxy?.outboundPort)).to.equal(GREETING);
      expect(await listenSecurely(proxy?.inboundPort, NAME), 'straight to its port').to.equal(GREETING);
    });

    it('opens the proxy’s own port to the names of the workload’s services only, and to the mesh only', async () => {
      await start('', { portName: 'mysql', greeting: GREETING });
      expect(await listenSecurely(proxy?.capturePort, NAME)).to.equal(GREETING);
      expect(await listenSecurely(proxy?.capturePort, 'outbound_.9999_._.httpbin.foo.svc.cluster.local')).to.not.equal(GREETING);
      expect(await listenTo(proxy?.capturePort)).to.not.equal(GREETING);
    });
  });

  it('refuses connections to a raw TCP port that require a token', async () => {
    await start(`{origins: [${jwt()}]}`, { portName: 'tcp' });
    expect(await direct('/', ...bearer(token()))).to.deep.equal(RESET);
  });
});
