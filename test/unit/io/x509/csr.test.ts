import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { createCsr } from '../../../../src/io/x509/csr.ts';
import { type Csr, parseCsr } from '../../../../src/io/x509/csr-parse.ts';
import { bitString, implicitList, sequence, unsignedInteger } from '../../../../src/io/x509/der.ts';
import { generateKeyPair, type KeyPair, publicKeyDer } from '../../../../src/io/x509/key.ts';
import { encodeSubject } from '../../../../src/io/x509/names.ts';
import { encodePem } from '../../../../src/io/x509/pem.ts';
import { signDer, signingAlgorithm } from '../../../../src/io/x509/signature.ts';
import { openssl } from '../../../harness/certificates.ts';

const SPIFFE = 'spiffe://cluster.local/ns/foo/sa/httpbin';

function requireCsr(request: string | Uint8Array): Csr {
  const parsed = parseCsr(request);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.value;
}

function refusal(request: string | Uint8Array): string {
  const parsed = parseCsr(request);
  return parsed.ok ? 'accepted' : parsed.problems.map(({ message }) => message).join('; ');
}

/** A request whose parts need not fit each other. */
async function forge(subjectKey: KeyPair['publicKey'], signingKey: KeyPair['privateKey']): Promise<Uint8Array> {
  const info = sequence(unsignedInteger(Uint8Array.of(0)), encodeSubject({}), publicKeyDer(subjectKey), implicitList(0));
  const { identifier, hash } = signingAlgorithm(signingKey);
  return sequence(info, identifier, bitString(await signDer(hash, info, signingKey)));
}

describe('certificate signing requests', () => {
  let pair: KeyPair;
  let pem: string;
  let der: Uint8Array;
  before(async () => {
    pair = await generateKeyPair('ec-p256');
    ({ pem, der } = await createCsr({ ...pair, uriSans: [SPIFFE], dnsSans: ['httpbin.foo'], organization: 'mesh' }));
  });

  for (const type of ['ec-p256', 'rsa-2048'] as const) {
    it(`are verified by openssl (${type})`, async () => {
      const csr = await createCsr({ ...(await generateKeyPair(type)), uriSans: [SPIFFE] });
      expect(openssl({ 'r.pem': csr.pem }, 'req', '-in', 'r.pem', '-verify', '-noout', '-text')).to.contain(`URI:${SPIFFE}`);
    });
  }

  it('are read back, with everything they ask for', () => {
    const csr = requireCsr(pem);
    expect(csr.names).to.deep.equal([
      { type: 'uri', value: SPIFFE },
      { type: 'dns', value: 'httpbin.foo' },
    ]);
    expect(csr).to.include({ hasOtherNames: false, asksForCa: false });
    expect(csr.publicKey.equals(pair.publicKey)).to.equal(true);
    expect(requireCsr(der).names).to.deep.equal(csr.names);
  });

  it('of openssl are read, with its key types, common name and CA wish', () => {
    const made = execFileSync(
      'openssl',
      [
        'req',
        '-new',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-keyout',
        '/dev/null',
        '-subj',
        '/O=x/CN=some host',
        '-addext',
        'basicConstraints=CA:TRUE',
        '-addext',
        'subjectAltName=IP:10.0.0.1,email:a@b.c,RID:1.2.3.4',
      ],
      { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
    );
    expect(requireCsr(made)).to.deep.include({
      asksForCa: true,
      hasOtherNames: true,
      commonNames: ['some host'],
      names: [
        { type: 'ip', value: '10.0.0.1' },
        { type: 'email', value: 'a@b.c' },
      ],
    });
  });

  it('without the private key of the key in them are refused', async () => {
    const other = await generateKeyPair('ec-p256');
    const rsa = await generateKeyPair('rsa-2048');
    const unproven = 'the certificate signing request is not signed with the key it holds';
    expect(refusal(await forge(pair.publicKey, other.privateKey))).to.equal(unproven);
    expect(refusal(await forge(pair.publicKey, rsa.privateKey))).to.equal(unproven);
  });

  const WEAK = [
    ['an RSA key of 1024 bits', () => generateKeyPairSync('rsa', { modulusLength: 1024 }), 'too weak'],
    [
      'a curve that Envoy does not have',
      () => generateKeyPairSync('ec', { namedCurve: 'secp256k1' }),
      'the curve secp256k1 is not supported',
    ],
  ] as const;
  for (const [what, make, message] of WEAK) {
    it(`with ${what} are refused`, async () => {
      const weak = make();
      expect(refusal(await forge(weak.publicKey, weak.privateKey))).to.contain(message);
    });
  }

  it('with a huge RSA exponent are refused', () => {
    const exponent = ['-newkey', 'rsa:2048', '-pkeyopt', 'rsa_keygen_pubexp:4294967311'];
    const made = execFileSync('openssl', ['req', '-new', ...exponent, '-nodes', '-keyout', '/dev/null', '-subj', '/O=x'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    expect(refusal(made)).to.contain('the public exponent of the RSA key is out of range');
  });

  it('signed with SHA-1 are refused', () => {
    const made = execFileSync(
      'openssl',
      ['req', '-new', '-sha1', '-newkey', 'rsa:2048', '-nodes', '-keyout', '/dev/null', '-subj', '/O=x'],
      {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    expect(refusal(made)).to.contain('unsupported algorithm (1.2.840.113549.1.1.5)');
  });

  const MALFORMED: readonly (readonly [string, () => string | Uint8Array])[] = [
    ['an empty text', () => ''],
    ['garbage', () => 'hello'],
    ['a PEM block of garbage', () => encodePem('CERTIFICATE REQUEST', Buffer.from('hello'))],
    ['another kind of PEM block', () => encodePem('CERTIFICATE', der)],
    ['two requests', () => pem + pem],
    ['a request cut short', () => pem.slice(0, 200)],
    ['a private key', () => '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n'],
    ['more than can be a request', () => encodePem('CERTIFICATE REQUEST', new Uint8Array(100_000))],
    ['nesting without end', () => Buffer.from('3080'.repeat(5_000), 'hex')],
    ['a length beyond the end', () => Buffer.from('3084ffffffff', 'hex')],
  ];
  for (const [what, make] of MALFORMED) {
    it(`refuses ${what}`, () => {
      expect(refusal(make())).to.match(/malformed|too long|is expected/);
    });
  }

  it('never throws, whatever byte is changed, and never takes a changed request for the sent one', () => {
    fc.assert(
      fc.property(fc.nat({ max: der.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const changed = Uint8Array.from(der);
        changed[at] = (changed[at] ?? 0) ^ change;
        const parsed = parseCsr(changed);
        // The length of the outermost part and of the signature's bits may be written in other ways; what was signed may not.
        expect(parsed.ok && parsed.value.names.some(({ value }) => value !== SPIFFE && value !== 'httpbin.foo')).to.equal(false);
      }),
      { numRuns: 400 },
    );
  });

  it('never throws for random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(parseCsr(bytes).ok).to.equal(false);
      }),
    );
  });
});
