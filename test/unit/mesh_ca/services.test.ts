import { expect } from 'chai';
import { IstioCertificateRequest } from '#gen/istio/v1/auth/ca.ts';
import type { HandlerContext } from '../../../src/io/grpc/types.ts';
import { privateKeyPem } from '../../../src/io/x509/key.ts';
import { encodePem } from '../../../src/io/x509/pem.ts';
import { seconds } from '../../../src/lib/duration.ts';
import { MeshError } from '../../../src/lib/errors.ts';
import { parseAuthority } from '../../../src/mesh_ca/authority.ts';
import { AuthorityHolder } from '../../../src/mesh_ca/live-authority.ts';
import { caMethods } from '../../../src/mesh_ca/services.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';
import { makeRoot, NOW, testSerial } from '../../harness/certificates.ts';

const MOST = 2_048;

describe('the services of the certificate authority', () => {
  it('work on 2,048 requests at once, tell others to come again, and take new ones afterwards', async () => {
    const ca = await makeRoot();
    const signingKey = privateKeyPem(ca.pair.privateKey);
    const signingCert = encodePem('CERTIFICATE', ca.certificate.raw);
    const parsed = parseAuthority({ signingCert, signingKey, certChain: '', rootCert: '' }, NOW);
    if (!parsed.ok) expect.fail();
    const waiting = Promise.withResolvers<never>();
    let asked = 0;
    const [method] = caMethods({
      authority: new AuthorityHolder(parsed.value),
      settings: { trustDomain: () => 'cluster.local', issuers: () => [] },
      limits: { defaultTtl: seconds(60), maxTtl: seconds(60), organization: '', certificateAuthorities: [] },
      verifyToken: () => {
        asked += 1;
        return waiting.promise;
      },
      now: () => NOW,
      newSerial: testSerial,
      logger: new MemoryLogger(),
    });
    if (method?.type !== 'unary') expect.fail();
    const context: HandlerContext = {
      metadata: new Map([['authorization', 'Bearer x']]),
      peer: { address: '', certificate: undefined },
      signal: new AbortController().signal,
      response: { addHeader: () => {}, addTrailer: () => {} },
    };
    const request = IstioCertificateRequest.encode(IstioCertificateRequest.fromPartial({ csr: 'x' })).finish();
    const codeOf = async (): Promise<string> =>
      method.handle(request, context).then(
        () => 'signed',
        (thrown: unknown) => MeshError.from(thrown).code,
      );
    const running = Array.from({ length: MOST }, codeOf);
    expect(await codeOf()).to.equal('resource_exhausted');
    expect(asked).to.equal(MOST);
    waiting.reject(new MeshError('unauthenticated', 'no'));
    expect(new Set(await Promise.all(running))).to.deep.equal(new Set(['unauthenticated']));
    expect(await codeOf()).to.equal('unauthenticated');
  });
});
