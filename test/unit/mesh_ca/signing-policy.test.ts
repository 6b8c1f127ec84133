import { expect } from 'chai';
import type { Csr } from '../../../src/io/x509/csr-parse.ts';
import { generateKeyPair, type KeyPair } from '../../../src/io/x509/key.ts';
import { type Duration, seconds } from '../../../src/lib/duration.ts';
import { MeshError } from '../../../src/lib/errors.ts';
import type { SpiffeId } from '../../../src/lib/spiffe.ts';
import { isRotationDue } from '../../../src/mesh_ca/rotation.ts';
import { type SigningIssuer, type SigningLimits, templateFor } from '../../../src/mesh_ca/signing-policy.ts';
import { DAY, NOW, testSerial } from '../../harness/certificates.ts';

const caller = { trustDomain: 'cluster.local', namespace: 'foo', serviceAccount: 'httpbin' };
const OWN = 'spiffe://cluster.local/ns/foo/sa/httpbin';
const OTHER = 'spiffe://cluster.local/ns/bar/sa/httpbin';
const limits: SigningLimits = {
  defaultTtl: seconds(10 * DAY),
  maxTtl: seconds(20 * DAY),
  organization: '',
  certificateAuthorities: [],
};
const validity = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2027-01-01T00:00:00Z') };
const issuer: SigningIssuer = { validity, depthBelow: Number.POSITIVE_INFINITY };

describe('the signing policy', () => {
  let pair: KeyPair;
  before(async () => {
    pair = await generateKeyPair('ec-p256');
  });

  const csr = (changes: Partial<Csr> = {}): Csr => ({
    publicKey: pair.publicKey,
    names: [{ type: 'uri', value: OWN }],
    hasOtherNames: false,
    commonNames: [],
    asksForCa: false,
    ...changes,
  });
  const decide = (changes: Partial<Csr> = {}, ttl?: Duration, over = limits, within = issuer) =>
    templateFor({ caller, csr: csr(changes), ttl }, over, within, NOW, testSerial());

  function refusal(changes: Partial<Csr>, ttl?: Duration): string {
    try {
      decide(changes, ttl);
      return 'signed';
    } catch (thrown) {
      const { code, message } = MeshError.from(thrown);
      return `${code}: ${message}`;
    }
  }

  const GRANTED: readonly (readonly [string, Partial<Csr>])[] = [
    ['its own name', {}],
    ['no name', { names: [] }],
    [
      'its own name twice',
      {
        names: [
          { type: 'uri', value: OWN },
          { type: 'uri', value: OWN },
        ],
      },
    ],
    ['its own name as common name', { commonNames: [OWN] }],
  ];
  for (const [what, changes] of GRANTED) {
    it(`gives a caller that asks for ${what} a certificate for its own name`, () => {
      expect(decide(changes)).to.deep.include({
        names: [{ type: 'uri', value: OWN }],
        use: { type: 'tls', server: true, client: true },
      });
    });
  }

  const REFUSED: readonly (readonly [string, Partial<Csr>, string])[] = [
    ["another namespace's name", { names: [{ type: 'uri', value: OTHER }] }, `the uri name "${OTHER}"`],
    [
      "its own and another's name",
      {
        names: [
          { type: 'uri', value: OWN },
          { type: 'uri', value: OTHER },
        ],
      },
      `the uri name "${OTHER}"`,
    ],
    ['a DNS name', { names: [{ type: 'dns', value: 'mesh-pilot' }] }, 'the dns name "mesh-pilot"'],
    ['its own name as DNS name', { names: [{ type: 'dns', value: OWN }] }, 'the dns name'],
    ['an address', { names: [{ type: 'ip', value: '10.0.0.1' }] }, 'the ip name "10.0.0.1"'],
    ['a name of another kind', { hasOtherNames: true }, 'a name of another kind'],
    ["another's common name", { commonNames: [OTHER] }, 'the common name'],
    ['an upper-case form of its name', { names: [{ type: 'uri', value: OWN.toUpperCase() }] }, 'the uri name'],
    ['the rights of an authority', { asksForCa: true }, 'may not become a certificate authority'],
  ];
  for (const [what, changes, message] of REFUSED) {
    it(`refuses a caller that asks for ${what}`, () => {
      expect(refusal(changes)).to.match(/^permission_denied: spiffe:\/\/cluster.local\/ns\/foo\/sa\/httpbin may not/);
      expect(refusal(changes)).to.contain(message);
    });
  }

  const LIVES: readonly (readonly [string, Duration | undefined, number])[] = [
    ['nothing', undefined, 10 * DAY],
    ['less than the default', seconds(3600), 3600],
    ['more than the default', seconds(15 * DAY), 15 * DAY],
    ['the maximum', seconds(20 * DAY), 20 * DAY],
  ];
  for (const [what, asked, granted] of LIVES) {
    it(`lets a certificate live ${granted} s when ${what} is asked for`, () => {
      expect(decide({}, asked).notAfter.getTime()).to.equal(NOW.getTime() + granted * 1000);
    });
  }

  for (const asked of [seconds(20 * DAY + 1), seconds(3e12)]) {
    it(`refuses a life of ${asked} ms, which is longer than the maximum`, () => {
      expect(refusal({}, asked)).to.match(
        /^invalid: a certificate for .* is more than the 480h0m0s that are granted at most here$/,
      );
    });
  }

  it('never grants more than the issuer has left', () => {
    const ending = { ...issuer, validity: { ...validity, notAfter: new Date('2026-05-01T13:00:00Z') } };
    expect(decide({}, seconds(DAY), limits, ending).notAfter).to.deep.equal(ending.validity.notAfter);
  });

  it('refuses a life that is none', () => {
    expect(refusal({}, seconds(-1))).to.equal(
      'invalid: a certificate cannot be valid for -1s: ask for more than 0s, or for nothing',
    );
  });

  it('writes the organization into the subject', () => {
    expect(decide({}, undefined, { ...limits, organization: 'mesh' }).subject).to.deep.equal({ organization: 'mesh' });
  });
});

describe('the signing policy for other authorities', () => {
  const authority = { trustDomain: 'cluster.local', namespace: 'mesh-system', serviceAccount: 'mesh-citadel-service-account' };
  const own = 'spiffe://cluster.local/ns/mesh-system/sa/mesh-citadel-service-account';
  const named = { namespace: 'edge', serviceAccount: 'ca' };
  const allowing: SigningLimits = { ...limits, certificateAuthorities: [authority, named] };
  let pair: KeyPair;
  before(async () => {
    pair = await generateKeyPair('ec-p256');
  });

  const decide = (from: SpiffeId, over: SigningLimits, within = issuer, ttl?: Duration, names: Csr['names'] = []) => {
    const csr = { publicKey: pair.publicKey, names, hasOtherNames: false, commonNames: [], asksForCa: true };
    return templateFor({ caller: from, csr, ttl }, over, within, NOW, testSerial());
  };

  it('grants a signing certificate that names the trust domain, with no further authority below it', () => {
    for (const from of [authority, { ...named, trustDomain: 'cluster.local' }]) {
      const { use, names, subject } = decide(from, allowing);
      expect(use).to.deep.equal({ type: 'ca', pathLength: 0, permittedUriHost: 'cluster.local' });
      expect(names).to.deep.equal([{ type: 'uri', value: 'spiffe://cluster.local' }]);
      expect(subject.commonName).to.match(/^intermediate [0-9a-f]{40}$/);
    }
  });

  it('lets it live as long as is asked for, up to the end of the issuer', () => {
    const end = (ttl: Duration) => decide(authority, allowing, issuer, ttl).notAfter.toISOString();
    expect(end(seconds(100 * DAY))).to.equal('2026-08-09T12:00:00.000Z');
    expect(end(seconds(1000 * DAY))).to.equal('2027-01-01T00:00:00.000Z');
  });

  const REFUSED: readonly (readonly [string, () => unknown, string])[] = [
    [
      'without --sign-ca-certs',
      () => decide(authority, limits),
      `permission_denied: ${own} may not become a certificate authority`,
    ],
    ['of any other account', () => decide(caller, allowing), `permission_denied: ${OWN} may not become a certificate authority`],
    [
      'of the same account elsewhere',
      () => decide({ ...authority, namespace: 'foo' }, allowing),
      'permission_denied: spiffe://cluster.local/ns/foo/sa/mesh-citadel-service-account may not',
    ],
    [
      'for a name of its own choice',
      () => decide(authority, allowing, issuer, undefined, [{ type: 'uri', value: 'spiffe://cluster.local' }]),
      'permission_denied: ',
    ],
    [
      'below an authority that allows none',
      () => decide(authority, allowing, { ...issuer, depthBelow: 0 }),
      'failed_precondition: ',
    ],
  ];
  for (const [what, run, message] of REFUSED) {
    it(`refuses it ${what}`, () => {
      let refusal = 'granted';
      try {
        run();
      } catch (thrown) {
        const error = MeshError.from(thrown);
        refusal = `${error.code}: ${error.message}`;
      }
      expect(refusal).to.contain(message);
    });
  }
});

describe('rotation', () => {
  const life = { notBefore: NOW, notAfter: new Date(NOW.getTime() + 100_000) };
  const due = (left: number, ratio: number, minimum: number): boolean =>
    isRotationDue(life, { ratio, minimum: seconds(minimum) }, new Date(life.notAfter.getTime() - left * 1000));

  it('is due when less is left than the ratio of the life', () => {
    expect([due(50, 0.5, 0), due(49, 0.5, 0)]).to.deep.equal([false, true]);
  });

  it('is due when less is left than the minimum', () => {
    expect([due(30, 0.1, 30), due(29, 0.1, 30)]).to.deep.equal([false, true]);
  });

  it('is not due from the beginning on when the minimum is longer than the life', () => {
    expect([due(100, 0.5, 600), due(49, 0.5, 600)]).to.deep.equal([false, true]);
  });
});
