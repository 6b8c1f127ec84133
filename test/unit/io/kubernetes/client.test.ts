import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { UserAccess } from '../../../../src/io/kubernetes/access.ts';
import { createKubernetesClient, type KubernetesClient } from '../../../../src/io/kubernetes/client.ts';
import { milliseconds } from '../../../../src/lib/duration.ts';
import { MeshError } from '../../../../src/lib/errors.ts';
import { ScriptedApi, type ScriptedCall } from '../../../fakes/scripted-api.ts';

const CALL = { method: 'GET', path: '/api/v1/pods', what: 'list pods' } as const;

describe('client of the Kubernetes API', () => {
  let api: ScriptedApi;
  let client: KubernetesClient;
  let waits: number[];
  beforeEach(async () => {
    api = await ScriptedApi.start();
    waits = [];
    client = clientOf(api.url);
  });
  afterEach(async () => {
    client.close();
    await api.stop();
  });

  function clientOf(url: string, user: Partial<UserAccess> = {}): KubernetesClient {
    return createKubernetesClient({
      access: { server: { url, insecure: false }, user: { name: 'me', impersonate: {}, ...user } },
      flag: '--orchconfig',
      env: {},
      now: () => new Date(),
      sleep: async (time) => void waits.push(time),
      userAgent: 'mesh/test',
      maxAnswerBytes: 1_000,
    });
  }

  /** How a request fails. */
  async function failure(promise: Promise<unknown>): Promise<string> {
    try {
      return `resolved: ${JSON.stringify(await promise)}`;
    } catch (error) {
      return error instanceof MeshError ? `${error.code}: ${error.message.replaceAll(api.url, 'API')}` : String(error);
    }
  }

  const status = (message: string, reason = ''): object => ({ kind: 'Status', message, reason });

  it('sends JSON and gets JSON', async () => {
    const asked = client.request({
      ...CALL,
      method: 'PATCH',
      query: { force: 'true' },
      body: { a: 1 },
      contentType: 'application/apply-patch+yaml',
    });
    const call = await api.next();
    call.answer(200, { ok: true });
    expect(await asked).to.deep.equal({ ok: true });
    expect([call.method, call.path, call.query.toString(), call.body]).to.deep.equal([
      'PATCH',
      '/api/v1/pods',
      'force=true',
      '{"a":1}',
    ]);
    expect(call.headers).to.include({
      'content-type': 'application/apply-patch+yaml',
      accept: 'application/json',
      'user-agent': 'mesh/test',
    });
  });

  const REFUSALS: readonly (readonly [number, unknown, string])[] = [
    [400, status('bad'), 'invalid: cannot list pods: bad'],
    [
      401,
      status('Unauthorized'),
      'unauthenticated: cannot list pods: the API server at API does not accept the credentials of user "me" (Unauthorized)',
    ],
    [
      403,
      status('pods is forbidden'),
      'permission_denied: cannot list pods: the API server at API refuses it to user "me": pods is forbidden',
    ],
    [404, status('pods "a" not found'), 'not_found: cannot list pods: pods "a" not found'],
    [
      404,
      '404 page not found',
      'not_found: cannot list pods: the API server at API does not know such objects; install their custom resource definition',
    ],
    [405, status('no'), 'unimplemented: cannot list pods: no'],
    [409, status('there', 'AlreadyExists'), 'already_exists: cannot list pods: there'],
    [409, status('changed', 'Conflict'), 'conflict: cannot list pods: changed'],
    [410, status('too old', 'Expired'), 'failed_precondition: cannot list pods: too old'],
    [413, status('too large'), 'resource_exhausted: cannot list pods: too large'],
    [422, status('wrong'), 'invalid: cannot list pods: wrong'],
    [429, status('later'), 'unavailable: cannot list pods: later'],
    [500, status('broken'), 'unavailable: cannot list pods: broken'],
    [502, '<html>Bad Gateway</html>', 'unavailable: cannot list pods: HTTP status 502'],
    [504, status('slow'), 'deadline_exceeded: cannot list pods: slow'],
    [302, '', 'internal: cannot list pods: HTTP status 302'],
    [200, '<html>Welcome</html>', 'unavailable: cannot list pods: the answer is not JSON; is this the address of an API server?'],
  ];
  for (const [code, body, expected] of REFUSALS) {
    it(`answers HTTP status ${code} with "${expected}"`, async () => {
      const asked = failure(client.request(CALL));
      (await api.next()).answer(code, body);
      expect(await asked).to.equal(expected);
    });
  }

  describe('when the server asks for patience', () => {
    it('waits as long as it says, and asks again', async () => {
      const asked = client.request(CALL);
      (await api.next()).answer(429, status('later'), { 'retry-after': '2' });
      (await api.next()).answer(503, status('starting'), { 'retry-after': '1' });
      (await api.next()).answer(200, { ok: true });
      expect(await asked).to.deep.equal({ ok: true });
      expect(waits).to.deep.equal([2_000, 1_000]);
    });

    it('gives up in the end', async () => {
      const asked = failure(client.request(CALL));
      for (let answer = 0; answer < 6; answer += 1) (await api.next()).answer(429, status('later'), { 'retry-after': '1' });
      expect(await asked).to.equal('unavailable: cannot list pods: later');
      expect(waits).to.have.length(5);
    });

    it('does not repeat what was refused for good', async () => {
      const asked = failure(client.request(CALL));
      (await api.next()).answer(403, status('no'), { 'retry-after': '1' });
      expect(await asked).to.include('permission_denied');
      expect(waits).to.deep.equal([]);
    });
  });

  it('asks again with the token that the file has now', async () => {
    const root = await mkdtemp(join(tmpdir(), 'mesh-client-'));
    const path = join(root, 'token');
    await writeFile(path, 'old');
    const mine = clientOf(api.url, { authorization: { type: 'token', token: { type: 'file', path } } });
    try {
      const asked = mine.request(CALL);
      const first = await api.next();
      await writeFile(path, 'new');
      first.answer(401, status('Unauthorized'));
      const second = await api.next();
      second.answer(200, {});
      await asked;
      expect([first, second].map((call) => call.headers.authorization)).to.deep.equal(['Bearer old', 'Bearer new']);
    } finally {
      mine.close();
      await rm(root, { recursive: true });
    }
  });

  it('names flag and address of a server that cannot be reached', async () => {
    await api.stop();
    expect(await failure(client.request(CALL))).to.match(
      /^unavailable: cannot list pods: the API server at API, given by --orchconfig, cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:\d+$/,
    );
  });

  it('tells when the connection breaks in the answer', async () => {
    const asked = failure(client.request(CALL));
    const call = await api.next();
    call.open().write('{"items":');
    call.breakOff();
    expect(await asked).to.match(
      /^unavailable: cannot list pods: the API server at API, given by --orchconfig, broke off the connection/,
    );
  });

  it('asks once more when a kept connection was closed under it', async () => {
    const first = client.request(CALL);
    (await api.next()).answer(200, {});
    await first;
    const second = client.request(CALL);
    (await api.next()).breakOff();
    (await api.next()).answer(200, { again: true });
    expect(await second).to.deep.equal({ again: true });
  });

  it('never sends a change twice for that', async () => {
    const first = client.request(CALL);
    (await api.next()).answer(200, {});
    await first;
    const second = failure(client.request({ ...CALL, method: 'POST', body: {} }));
    (await api.next()).breakOff();
    expect(await second).to.include('unavailable');
    expect(api.pending).to.equal(0);
  });

  it('ends a request at its deadline, and tells the server', async () => {
    const asked = failure(client.request({ ...CALL, deadline: milliseconds(30) }));
    await (await api.next()).closed;
    expect(await asked).to.equal(
      'deadline_exceeded: cannot list pods: the API server at API, given by --orchconfig, did not answer in 30 ms',
    );
  });

  it('ends a request that nobody waits for any more', async () => {
    const controller = new AbortController();
    const asked = failure(client.request({ ...CALL, signal: controller.signal }));
    const call = await api.next();
    controller.abort();
    expect(await asked).to.equal('cancelled: cancelled: list pods');
    await call.closed;
  });

  it('does not take an answer without end', async () => {
    const asked = failure(client.request(CALL));
    const call = await api.next();
    call.open().write(' '.repeat(1_001));
    expect(await asked).to.equal('resource_exhausted: cannot list pods: the answer is longer than 1000 bytes');
    await call.closed;
  });

  it('goes through the proxy of the configuration', async () => {
    const { access } = {
      access: { server: { url: 'http://api.invalid', insecure: false, proxy: api.url }, user: { name: 'me', impersonate: {} } },
    };
    const mine = createKubernetesClient({
      access,
      flag: '--orchconfig',
      env: {},
      now: () => new Date(),
      sleep: async () => {},
      userAgent: 'x',
    });
    const asked = mine.request(CALL);
    const call = await api.next();
    call.answer(200, { via: 'proxy' });
    expect(await asked).to.deep.equal({ via: 'proxy' });
    expect(call.headers.host).to.equal('api.invalid');
    mine.close();
  });

  describe('watching', () => {
    const WATCH = { path: '/api/v1/pods', query: { watch: 'true' }, what: 'watch pods', deadline: milliseconds(60_000) };

    async function watch(
      signal: AbortSignal,
      deadline = WATCH.deadline,
    ): Promise<readonly [ScriptedCall, AsyncIterator<unknown>]> {
      const opening = client.watch({ ...WATCH, deadline, signal });
      const call = (await api.next()).open();
      return [call, (await opening)[Symbol.asyncIterator]()];
    }

    it('begins as soon as the server agrees, and ends with it', async () => {
      const [call, frames] = await watch(new AbortController().signal);
      call.send({ n: 1 });
      expect(await frames.next()).to.deep.equal({ done: false, value: { n: 1 } });
      call.end();
      expect(await frames.next()).to.have.property('done', true);
    });

    it('tells when the connection breaks', async () => {
      const [call, frames] = await watch(new AbortController().signal);
      const next = failure(frames.next());
      call.breakOff();
      expect(await next).to.match(/^unavailable: cannot watch pods: .* broke off the connection/);
    });

    it('hangs up when it is aborted', async () => {
      const controller = new AbortController();
      const [call, frames] = await watch(controller.signal);
      const next = failure(frames.next());
      controller.abort();
      expect(await next).to.equal('cancelled: cancelled: watch pods');
      await call.closed;
    });

    it('hangs up when its consumer stops', async () => {
      const [call, frames] = await watch(new AbortController().signal);
      call.send({ n: 1 });
      await frames.next();
      await frames.return?.();
      await call.closed;
    });

    it('ends at its deadline', async () => {
      const [call, frames] = await watch(new AbortController().signal, milliseconds(50.5));
      expect(await failure(frames.next())).to.match(/^deadline_exceeded: cannot watch pods: /);
      await call.closed;
    });

    it('is refused like a request', async () => {
      const opening = failure(client.watch({ ...WATCH, signal: new AbortController().signal }));
      (await api.next()).answer(410, status('too old', 'Expired'));
      expect(await opening).to.equal('failed_precondition: cannot watch pods: too old');
    });
  });
});
