import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import type { HttpHandler } from '../../../../src/io/http/types.ts';
import { tokenIssuer } from '../../../../src/lab/images/jwks.ts';
import { generateKeys, loadKeys, publicKeySet, type SigningKeys } from '../../../../src/lab/images/signing-keys.ts';
import type { TOKEN_VARIANTS } from '../../../../src/lab/images/token.ts';
import { MeshError } from '../../../../src/lib/errors.ts';
import { httpRequest } from '../../../fakes/http-request.ts';

const NOW = new Date('2026-01-02T03:04:05Z');
const SECONDS = NOW.getTime() / 1_000;

describe('image jwks', () => {
  let keys: SigningKeys;
  let handle: HttpHandler;
  before(() => {
    keys = generateKeys();
  });
  beforeEach(() => {
    handle = tokenIssuer({ keys, issuer: 'http://issuer', now: () => NOW });
  });

  const get = async (path: string) =>
    String((await handle(httpRequest(`GET ${path}`, { headers: { host: 'jwks.auth:8000' } }))).body);
  const failure = async (line: string) =>
    Promise.resolve(handle(httpRequest(line))).then(
      () => expect.fail('answered'),
      (error: unknown) => MeshError.from(error),
    );
  const verify = async (token: string) => {
    const keySet: JSONWebKeySet = JSON.parse(await get('/jwks'));
    return jwtVerify(token, createLocalJWKSet(keySet), { issuer: 'http://issuer', audience: 'httpbin', currentDate: NOW });
  };
  const codeOf = async (token: string): Promise<unknown> =>
    verify(token).then(
      () => 'verified',
      (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error),
    );

  it('mints tokens that its key set verifies', async () => {
    const { payload } = await verify(await get('/token?iss=http://issuer&aud=httpbin&sub=alice&exp=10m'));
    expect(payload).to.deep.equal({ iss: 'http://issuer', sub: 'alice', aud: 'httpbin', iat: SECONDS, exp: SECONDS + 600 });
  });

  it('takes several audiences, none, and seconds', async () => {
    expect(decodeJwt(await get('/token?aud=a&aud=b&exp=5'))).to.deep.include({ aud: ['a', 'b'], exp: SECONDS + 5 });
    expect(decodeJwt(await get('/token'))).to.deep.equal({
      iss: 'http://issuer',
      sub: 'user',
      iat: SECONDS,
      exp: SECONDS + 3_600,
    });
  });

  const wrong: Readonly<Record<Exclude<(typeof TOKEN_VARIANTS)[number], 'valid'>, string>> = {
    expired: 'ERR_JWT_EXPIRED',
    'not-yet-valid': 'ERR_JWT_CLAIM_VALIDATION_FAILED',
    'bad-signature': 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
    'unknown-key': 'ERR_JWKS_NO_MATCHING_KEY',
    'alg-none': 'ERR_JOSE_NOT_SUPPORTED',
    garbage: 'ERR_JWS_INVALID',
  };
  for (const [variant, code] of Object.entries(wrong)) {
    it(`mints tokens that are bad in one way: ${variant}`, async () => {
      expect(await codeOf(await get(`/token?aud=httpbin&variant=${variant}`))).to.equal(code);
    });
  }

  it('claims the published key in a token with a bad signature', async () => {
    const token = await get('/token?variant=bad-signature');
    expect(decodeProtectedHeader(token).kid).to.equal(keys.published.id);
  });

  it('publishes no private key', async () => {
    expect(JSON.parse(await get('/jwks')).keys.map((key: object) => Object.keys(key).sort())).to.deep.equal([
      ['alg', 'e', 'kid', 'kty', 'n', 'use'],
    ]);
  });

  it('says where its keys are (OpenID discovery)', async () => {
    expect(JSON.parse(await get('/.well-known/openid-configuration'))).to.include({
      issuer: 'http://issuer',
      jwks_uri: 'http://jwks.auth:8000/jwks',
    });
  });

  it('serves its keys badly from the moment it is told to, and well again', async () => {
    const fault = (mode: string) => handle(httpRequest(`POST /fault?mode=${mode}`));
    await fault('down');
    expect(await failure('GET /jwks')).to.have.property('code', 'unavailable');
    await fault('garbage');
    expect(await get('/jwks')).to.equal('{"keys": [');
    await fault('empty');
    expect(JSON.parse(await get('/jwks'))).to.deep.equal({ keys: [] });
    await fault('none');
    expect(JSON.parse(await get('/jwks'))).to.deep.equal(publicKeySet(keys));
  });

  it('lets a client that has waited long enough go', async () => {
    await handle(httpRequest('POST /fault?mode=slow'));
    const client = new AbortController();
    const pending = Promise.resolve(handle({ ...httpRequest('GET /jwks'), signal: client.signal }));
    client.abort();
    expect(await pending.catch((error: unknown) => error)).to.have.property('name', 'AbortError');
  });

  for (const line of ['GET /token?variant=fine', 'GET /token?exp=soon', 'POST /fault?mode=odd', 'POST /fault']) {
    it(`refuses ${line}`, async () => {
      expect(await failure(line)).to.have.property('code', 'invalid');
    });
  }

  describe('with a file of keys', () => {
    let directory = '';
    beforeEach(() => {
      directory = mkdtempSync(join(tmpdir(), 'mesh-jwks-'));
    });
    afterEach(() => rmSync(directory, { recursive: true }));

    it('makes it once, readable by its owner alone', async () => {
      const path = join(directory, 'keys.json');
      const [one, two] = await Promise.all([loadKeys(path), loadKeys(path)]);
      expect(publicKeySet(one)).to.deep.equal(publicKeySet(two));
      expect(publicKeySet(await loadKeys(path))).to.deep.equal(publicKeySet(one));
      expect(statSync(path).mode & 0o777).to.equal(0o600);
      expect(readdirSync(directory)).to.deep.equal(['keys.json']);
    });

    for (const content of ['', 'null', '{"keys": []}', '{"keys": [{"kty": "RSA"}, {}]}']) {
      it(`refuses one that holds ${content || 'nothing'}, and leaves it`, async () => {
        const path = join(directory, 'keys.json');
        writeFileSync(path, content);
        const error = await loadKeys(path).catch((thrown: unknown) => thrown);
        expect(error).to.be.instanceOf(MeshError).with.property('message').that.contains(path);
      });
    }
  });
});
