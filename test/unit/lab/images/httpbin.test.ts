import { expect } from 'chai';
import type { HttpResponse } from '../../../../src/io/http/types.ts';
import { httpbin } from '../../../../src/lab/images/httpbin.ts';
import { MeshError } from '../../../../src/lib/errors.ts';
import { httpRequest } from '../../../fakes/http-request.ts';

async function answer(...request: Parameters<typeof httpRequest>): Promise<HttpResponse> {
  return await httpbin(httpRequest(...request));
}

async function json(...request: Parameters<typeof httpRequest>): Promise<Record<string, unknown>> {
  return JSON.parse(String((await answer(...request)).body));
}

async function failure(line: string): Promise<MeshError> {
  return answer(line).then(
    ({ status }) => expect.fail(`answered ${status}`),
    (error: unknown) => MeshError.from(error),
  );
}

async function sizeOf(body: HttpResponse['body']): Promise<number> {
  let size = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) size += chunk.length;
  return size;
}

describe('image httpbin', () => {
  it('shows where a request came from', async () => {
    expect(await json('GET /ip')).to.deep.equal({ origin: '10.0.0.9' });
    expect(await json('GET /ip', { headers: { 'x-forwarded-for': '192.0.2.1' } })).to.deep.equal({ origin: '192.0.2.1' });
  });

  it('shows the headers, so that mutual TLS can be seen', async () => {
    const headers = { host: 'httpbin', 'x-forwarded-client-cert': 'By=spiffe://x' };
    expect(await json('GET /headers', { headers })).to.deep.equal({
      headers: { Host: 'httpbin', 'X-Forwarded-Client-Cert': 'By=spiffe://x' },
    });
  });

  it('sends back what was posted', async () => {
    const headers = { host: 'httpbin:8000' };
    expect(await json('POST /post?key=1&key=2', { headers, body: '{"a":1}' })).to.deep.equal({
      args: { key: '1,2' },
      headers: { Host: 'httpbin:8000' },
      origin: '10.0.0.9',
      url: 'http://httpbin:8000/post?key=1&key=2',
      method: 'POST',
      data: '{"a":1}',
      json: { a: 1 },
    });
    expect(await json('PUT /anything/at/all', { body: 'not json' })).to.include({ method: 'PUT', data: 'not json', json: null });
  });

  for (const code of [200, 204, 418, 503, 599]) {
    it(`answers with the status ${code} it is asked for`, async () => {
      expect(await answer(`DELETE /status/${code}`)).to.deep.equal({ status: code });
    });
  }

  for (const size of [0, 1, 65_536, 100_000]) {
    it(`gives ${size} bytes`, async () => {
      const { headers, body } = await answer(`GET /bytes/${size}`);
      expect(headers).to.have.property('content-length', `${size}`);
      expect(await sizeOf(body)).to.equal(size);
    });
  }

  it('answers late when asked to', async () => {
    expect(await answer('GET /delay/0.001')).to.have.property('status', 200);
  });

  for (const line of [
    '/status/abc',
    '/status/199',
    '/status/600',
    '/status/-1',
    '/status/',
    '/bytes/-1',
    '/bytes/99999999',
    '/bytes/1e3',
  ]) {
    it(`refuses GET ${line}`, async () => {
      expect(await failure(`GET ${line}`)).to.have.property('code', 'invalid');
    });
  }

  for (const line of ['/delay/11', '/delay/-1', '/delay/NaN', '/delay/', '/delay/1e1']) {
    it(`refuses GET ${line}`, async () => {
      expect(await failure(`GET ${line}`)).to.have.property('code', 'invalid');
    });
  }

  it('knows its paths and their methods', async () => {
    expect(await failure('GET /')).to.have.property('code', 'not_found');
    expect(await failure('GET /ip/')).to.have.property('code', 'not_found');
    expect(await answer('POST /ip')).to.deep.include({ status: 405, headers: { allow: 'GET, HEAD' } });
    expect(await answer('GET /post')).to.have.property('status', 405);
  });
});
