import { expect } from 'chai';
import type { HttpResponse } from '../../../src/io/http/types.ts';
import { injectHandler } from '../../../src/sidecar-injector/webhook.ts';
import { httpRequest } from '../../fakes/http-request.ts';
import { fakeInjection } from '../../fakes/injection.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';

const pod = {
  metadata: { generateName: 'httpbin-', labels: { app: 'httpbin' } },
  spec: { containers: [{ name: 'httpbin', image: 'httpbin' }] },
};

function reviewOf(object: unknown, changes: Readonly<Record<string, unknown>> = {}, version = 'v1'): object {
  const request = {
    uid: 'review-1',
    kind: { group: '', version: 'v1', kind: 'Pod' },
    namespace: 'foo',
    operation: 'CREATE',
    object,
    ...changes,
  };
  return { apiVersion: `admission.k8s.io/${version}`, kind: 'AdmissionReview', request };
}

interface Answer {
  readonly apiVersion: string;
  readonly response: {
    readonly uid: string;
    readonly allowed: boolean;
    readonly patchType?: string;
    readonly patch?: string;
    readonly status?: { readonly message: string; readonly code: number };
  };
}

describe('the injection webhook', () => {
  const logger = new MemoryLogger();
  const handle = injectHandler(() => fakeInjection(), logger);

  const post = async (body: string, contentType = 'application/json', path = '/inject'): Promise<HttpResponse> =>
    handle(httpRequest(`POST ${path}`, { headers: { 'content-type': contentType }, body }));
  const ask = async (review: object): Promise<Answer> => {
    const response = await post(JSON.stringify(review));
    expect(response.status).to.equal(200);
    return JSON.parse(String(response.body));
  };

  for (const version of ['v1', 'v1beta1']) {
    it(`answers a review of ${version} with a patch that adds the sidecar`, async () => {
      const { apiVersion, response } = await ask(reviewOf(pod, {}, version));
      expect(apiVersion).to.equal(`admission.k8s.io/${version}`);
      expect(response).to.include({ uid: 'review-1', allowed: true, patchType: 'JSONPatch' });
      const patch = Buffer.from(response.patch ?? '', 'base64').toString();
      expect(JSON.parse(patch)).to.be.an('array');
      expect(patch).to.contain('mesh-proxy').and.to.contain('sidecar.mesh.io/status');
    });
  }

  it('leaves a pod alone that asks for it', async () => {
    const annotations = { 'sidecar.mesh.io/inject': 'false' };
    const { response } = await ask(reviewOf({ ...pod, metadata: { ...pod.metadata, annotations } }));
    expect(response).to.deep.equal({ uid: 'review-1', allowed: true });
  });

  it('leaves alone what is not a new pod', async () => {
    const other = await ask(reviewOf({}, { kind: { group: 'apps', kind: 'Deployment' } }));
    expect(other.response).to.deep.equal({ uid: 'review-1', allowed: true });
    const update = await ask(reviewOf(pod, { operation: 'UPDATE' }));
    expect(update.response).to.deep.equal({ uid: 'review-1', allowed: true });
  });

  it('refuses a pod that it cannot give its sidecar, and says why', async () => {
    const annotations = { 'traffic.sidecar.mesh.io/includeInboundPorts': 'eighty' };
    const { response } = await ask(reviewOf({ ...pod, metadata: { ...pod.metadata, annotations } }));
    expect(response.allowed).to.equal(false);
    expect(response.status?.code).to.equal(400);
    expect(response.status?.message).to.match(
      /^pod foo\/httpbin-: annotation traffic.*includeInboundPorts is "eighty", but must be/,
    );
  });

  it('refuses a review that it cannot read, with its UID when there is one', async () => {
    const garbage = await post('{');
    expect(garbage.status).to.equal(200);
    expect(JSON.parse(String(garbage.body)).response).to.deep.include({ uid: '', allowed: false });
    const { response } = await ask({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v7', request: { uid: 'u' } });
    expect(response).to.include({ uid: 'u', allowed: false });
    expect(response.status?.message).to.contain('admission.k8s.io/v1, admission.k8s.io/v1beta1');
  });

  it('refuses other paths, methods, content types and empty bodies', async () => {
    expect((await post('{}', 'text/plain')).status).to.equal(415);
    expect((await post('', 'application/json')).status).to.equal(400);
    expect((await post('{}', 'application/json; charset=utf-8', '/other')).status).to.equal(404);
    expect((await handle(httpRequest('GET /inject'))).status).to.equal(405);
  });

  for (const [what, body] of [
    ['a list', '[]'],
    ['a text', '"AdmissionReview"'],
    ['null', 'null'],
    ['half of one', JSON.stringify(reviewOf(pod)).slice(0, 200)],
    ['brackets without end', '['.repeat(1 << 20)],
    [
      'one with brackets nearly without end',
      JSON.stringify(reviewOf(pod)).replace('"review-1"', `"review-1","x":${'['.repeat(50_000)}${']'.repeat(50_000)}`),
    ],
    ['bytes that are no UTF-8', String.fromCharCode(0xfffd, 0)],
    ['a review without a request', '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}'],
    ['another kind', '{"kind":"Pod","apiVersion":"v1"}'],
  ] as const) {
    it(`refuses ${what} in place of a review, and stays what it is`, async () => {
      const response = await post(body);
      expect(response.status).to.equal(200);
      expect(JSON.parse(String(response.body)).response).to.include({ uid: '', allowed: false });
      expect((await ask(reviewOf(pod))).response.allowed).to.equal(true);
    });
  }

  for (const [what, object] of [
    ['nothing', null],
    ['a text', 'pod'],
    ['a list', []],
    ['a pod without containers', { metadata: {}, spec: {} }],
    ['containers that are none', { metadata: {}, spec: { containers: [1, null] } }],
    ['labels that are no texts', { metadata: { labels: { app: 1 } }, spec: { containers: [] } }],
    ['a forged status', { metadata: { annotations: { 'sidecar.mesh.io/status': '{"version":1}' } }, spec: { containers: [] } }],
  ] as const) {
    it(`refuses ${what} in place of a pod, with the reason`, async () => {
      const { response } = await ask(reviewOf(object));
      expect(response).to.include({ uid: 'review-1', allowed: false });
      expect(response.status?.code).to.equal(400);
      expect(response.status?.message).to.match(/^pod /);
    });
  }

  it('injects into a pod however deep what it does not read of it is', async () => {
    const depth = 5_000;
    const text = JSON.stringify(reviewOf({ ...pod, spec: { ...pod.spec, affinity: 'DEEP' } }));
    const answer = await post(text.replace('"DEEP"', `${'['.repeat(depth)}${']'.repeat(depth)}`));
    expect(JSON.parse(String(answer.body)).response).to.include({ allowed: true, patchType: 'JSONPatch' });
  });

  it('reads large reviews, whose texts may have any brackets', async () => {
    const annotations = { note: `${'['.repeat(200_000)}\\"{`, other: '\\' };
    const { response } = await ask(reviewOf({ ...pod, metadata: { ...pod.metadata, annotations } }));
    expect(response).to.include({ allowed: true, patchType: 'JSONPatch' });
  });

  it('takes so many bytes of reviews at once only, and the next when those are received', async () => {
    const handler = injectHandler(() => fakeInjection(), logger);
    let receive: (body: Buffer) => void = () => {};
    const body = new Promise<Buffer>((resolve) => {
      receive = resolve;
    });
    const request = httpRequest('POST /inject', { headers: { 'content-type': 'application/json' } });
    const slow = Array.from({ length: 16 }, () => handler({ ...request, body: () => body }));
    expect((await handler(request)).status, 'the 17th of unknown size').to.equal(503);
    receive(Buffer.from(JSON.stringify(reviewOf(pod))));
    for (const response of await Promise.all(slow)) expect(response.status).to.equal(200);
    expect((await handler({ ...request, body: () => body })).status).to.equal(200);
  });
});
