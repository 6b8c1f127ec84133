import { expect } from 'chai';
import { privateKeyPem } from '../../../src/io/x509/key.ts';
import { encodePem } from '../../../src/io/x509/pem.ts';
import { MeshError } from '../../../src/lib/errors.ts';
import { type Authority, parseAuthority } from '../../../src/mesh_ca/authority.ts';
import { selfCheck } from '../../../src/mesh_ca/self-check.ts';
import { makeRoot, NOW, type TestCa, testSerial } from '../../harness/certificates.ts';
import { freePort } from '../../harness/free-port.ts';

describe('the self check', () => {
  const identity = { trustDomain: 'cluster.local', namespace: 'mesh-system', serviceAccount: 'mesh-citadel-service-account' };
  let ca: TestCa;
  before(async () => {
    ca = await makeRoot();
  });

  function authority(signing = ca): Authority {
    const signingCert = encodePem('CERTIFICATE', signing.certificate.raw);
    const parsed = parseAuthority(
      { signingCert, signingKey: privateKeyPem(signing.pair.privateKey), certChain: '', rootCert: '' },
      NOW,
    );
    return parsed.ok ? parsed.value : expect.fail(JSON.stringify(parsed.problems));
  }
  const check = (of: Authority, now = NOW, server?: { readonly port: number; readonly name: string }): Promise<string> =>
    selfCheck({ authority: of, identity, server, now, newSerial: testSerial, signal: new AbortController().signal }).then(
      () => 'good',
      (thrown: unknown) => `${MeshError.from(thrown).code}: ${MeshError.from(thrown).message}`,
    );

  it('passes for an authority that signs', async () => {
    expect(await check(authority())).to.equal('good');
  });

  it('fails for one that has expired', async () => {
    expect(await check(authority(), new Date('2030-01-01T00:00:00Z'))).to.contain('failed_precondition');
  });

  it('fails for one whose key is another one by now', async () => {
    const other = await makeRoot();
    const broken = { ...authority(), issuerKey: { ...authority().issuerKey, privateKey: other.pair.privateKey } };
    expect(await check(broken)).to.equal(
      'internal: the certificate just signed is wrong: it is not signed with the key of its issuer',
    );
  });

  it('fails when nobody answers on its port', async () => {
    expect(await check(authority(), NOW, { port: await freePort(), name: 'mesh-citadel' })).to.contain('unavailable: 127.0.0.1:');
  });
});
