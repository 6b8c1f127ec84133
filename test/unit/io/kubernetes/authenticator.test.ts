import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { UserAccess } from '../../../../src/io/kubernetes/access.ts';
import { type Authenticator, createAuthenticator } from '../../../../src/io/kubernetes/authenticator.ts';
import { milliseconds } from '../../../../src/lib/duration.ts';
import { MeshError } from '../../../../src/lib/errors.ts';
import { Redacted } from '../../../../src/lib/redacted.ts';

const API = 'client.authentication.k8s.io/v1';

describe('credentials of a kubeconfig user', () => {
  let root: string;
  let time: number;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'mesh-auth-'));
    time = Date.parse('2030-01-01T00:00:00Z');
  });
  afterEach(() => rm(root, { recursive: true }));

  function authenticator(user: Partial<UserAccess>): Authenticator {
    const deps = { env: { PATH: process.env['PATH'], FROM_HOST: 'yes' }, now: () => new Date(time) };
    return createAuthenticator({ name: 'me', impersonate: {}, ...user }, deps);
  }

  const withToken = (path: string): Authenticator =>
    authenticator({ authorization: { type: 'token', token: { type: 'file', path } } });

  /** A plugin that prints what the file `output` holds, and counts its runs. */
  async function plugin(output: string | object): Promise<Authenticator> {
    await print(output);
    const script = `echo run >> ${root}/runs; echo "$KUBERNETES_EXEC_INFO $FROM_HOST $OWN $0" > ${root}/seen; cat ${root}/output`;
    const exec = { apiVersion: API, command: 'sh', args: ['-c', script, 'arg'], env: { OWN: 'own' } };
    return authenticator({ authorization: { type: 'exec', exec } });
  }

  async function print(output: string | object): Promise<void> {
    const status =
      typeof output === 'string' ? output : JSON.stringify({ apiVersion: API, kind: 'ExecCredential', status: output });
    await writeFile(join(root, 'output'), status);
  }

  const runs = async (): Promise<number> => (await readFile(join(root, 'runs'), 'utf8')).trim().split('\n').length;

  async function bearer(from: Authenticator): Promise<unknown> {
    return (await from.credentials()).headers['authorization'];
  }

  async function failure(from: Authenticator): Promise<string> {
    try {
      await from.credentials();
      return '';
    } catch (error) {
      return error instanceof MeshError ? `${error.code}: ${error.message.replaceAll(root, 'ROOT')}` : String(error);
    }
  }

  it('are a name and a password', async () => {
    const user = authenticator({ authorization: { type: 'basic', username: 'u', password: new Redacted('p') } });
    expect(await bearer(user)).to.equal('Basic dTpw');
  });

  it('are nothing for a user who has nothing', async () => {
    const { headers, certificate } = await authenticator({ impersonate: { 'impersonate-user': 'jane' } }).credentials();
    expect({ headers, certificate }).to.deep.equal({ headers: { 'impersonate-user': 'jane' }, certificate: undefined });
  });

  describe('in a file', () => {
    it('are read again after a while', async () => {
      const path = join(root, 'token');
      await writeFile(path, 'one\n');
      const user = withToken(path);
      expect(await bearer(user)).to.equal('Bearer one');
      await writeFile(path, 'two\n');
      expect(await bearer(user)).to.equal('Bearer one');
      time += 10_000;
      expect(await bearer(user)).to.equal('Bearer two');
    });

    it('are read again at once when the server refuses them', async () => {
      const path = join(root, 'token');
      await writeFile(path, 'one');
      const user = withToken(path);
      const credentials = await user.credentials();
      await writeFile(path, 'two');
      expect(credentials.refused()).to.equal(true);
      expect(await bearer(user)).to.equal('Bearer two');
    });

    it('stay what they were while the file cannot be read', async () => {
      const path = join(root, 'token');
      await writeFile(path, 'one');
      const user = withToken(path);
      await user.credentials();
      time += 60_000;
      await writeFile(path, '');
      expect(await bearer(user)).to.equal('Bearer one');
      await rm(path);
      expect(await bearer(user)).to.equal('Bearer one');
    });

    it('are missed by name', async () => {
      expect(await failure(withToken(join(root, 'none')))).to.match(/^failed_precondition: ROOT\/none cannot be read: ENOENT/);
    });

    it('cannot smuggle a header', async () => {
      const path = join(root, 'token');
      await writeFile(path, 'a\r\nImpersonate-User: admin');
      expect(await failure(withToken(path))).to.equal('unauthenticated: the token of user "me" has characters that no token has');
    });
  });

  describe('of a plugin', () => {
    it('are got once, with the environment that the configuration gives', async () => {
      const user = await plugin({ token: 'abc' });
      const all = await Promise.all([bearer(user), bearer(user), bearer(user)]);
      expect([...all, await bearer(user)]).to.deep.equal(Array(4).fill('Bearer abc'));
      expect(await runs()).to.equal(1);
      const info = JSON.stringify({ apiVersion: API, kind: 'ExecCredential', spec: { interactive: false } });
      expect(await readFile(join(root, 'seen'), 'utf8')).to.equal(`${info} yes own arg\n`);
    });

    it('are got again when they have expired', async () => {
      const user = await plugin({ token: 'one', expirationTimestamp: '2030-01-01T00:10:00Z' });
      await user.credentials();
      await print({ token: 'two', expirationTimestamp: '2030-01-01T00:20:00Z' });
      time += 599_000;
      expect(await bearer(user)).to.equal('Bearer one');
      time += 1_000;
      expect(await Promise.all([bearer(user), bearer(user)])).to.deep.equal(['Bearer two', 'Bearer two']);
      expect(await runs()).to.equal(2);
    });

    it('are got again once when the server refuses them to several', async () => {
      const user = await plugin({ token: 'one' });
      const [first, second] = await Promise.all([user.credentials(), user.credentials()]);
      await print({ token: 'two' });
      expect(first.refused()).to.equal(true);
      expect(await bearer(user)).to.equal('Bearer two');
      expect(second.refused()).to.equal(true);
      expect(await bearer(user)).to.equal('Bearer two');
      expect(await runs()).to.equal(2);
    });

    it('are got again once while the server refuses them to several at a time', async () => {
      const user = await plugin({ token: 'one' });
      const refused = await Promise.all([user.credentials(), user.credentials(), user.credentials()]);
      await print({ token: 'two' });
      const renewed = refused.map((credentials) => {
        credentials.refused();
        return bearer(user);
      });
      expect(await Promise.all(renewed)).to.deep.equal(Array(3).fill('Bearer two'));
      expect(await runs()).to.equal(2);
    });

    it('may be a certificate', async () => {
      const user = await plugin({ clientCertificateData: 'CHAIN', clientKeyData: 'KEY' });
      const { certificate } = await user.credentials();
      expect([certificate?.chain.reveal(), certificate?.key.reveal()]).to.deep.equal(['CHAIN', 'KEY']);
    });

    const FAILURES: readonly (readonly [string, string | object, string])[] = [
      ['nothing', '', 'printed something that is not JSON'],
      ['a secret and no JSON', 's3cret', 'printed something that is not JSON'],
      ['another version', '{"apiVersion":"v2"}', `printed apiVersion v2, not ${API}`],
      ['no credential', {}, 'printed neither a token nor a certificate'],
      ['a certificate alone', { clientCertificateData: 'C' }, 'printed a certificate without its key, or a key alone'],
      ['no date', { token: 'a', expirationTimestamp: 'soon' }, 'printed an expirationTimestamp that is no date'],
    ];
    for (const [title, output, message] of FAILURES) {
      it(`that prints ${title} fail`, async () => {
        expect(await failure(await plugin(output))).to.equal(`unauthenticated: the credential plugin sh ${message}`);
      });
    }

    it('that fails are tried again next time', async () => {
      const user = await plugin('');
      expect(await failure(user)).to.include('not JSON');
      await print({ token: 'abc' });
      expect(await bearer(user)).to.equal('Bearer abc');
    });

    it('that says why it fails tells the user', async () => {
      const exec = { apiVersion: API, command: 'sh', args: ['-c', 'echo please log in >&2; exit 3'], env: {} };
      const user = authenticator({ authorization: { type: 'exec', exec } });
      expect(await failure(user)).to.equal('unauthenticated: the credential plugin sh failed: please log in');
    });

    it('that does not come to an end is given up, with what it has started holding on', async () => {
      const exec = { apiVersion: API, command: 'sh', args: ['-c', 'sleep 5 & wait'], env: {} };
      const deps = { env: { PATH: process.env['PATH'] }, now: () => new Date(time), pluginLimit: milliseconds(50) };
      const user = createAuthenticator({ name: 'me', impersonate: {}, authorization: { type: 'exec', exec } }, deps);
      expect(await failure(user)).to.equal('unauthenticated: the credential plugin sh failed: no answer in 50ms');
    });

    it('that is not installed says how to', async () => {
      const exec = { apiVersion: API, command: join(root, 'none'), args: [], env: {}, installHint: 'get it at the shop' };
      const user = authenticator({ authorization: { type: 'exec', exec } });
      expect(await failure(user)).to.equal(
        'unauthenticated: the credential plugin ROOT/none failed: spawn ROOT/none ENOENT; get it at the shop',
      );
    });
  });
});
