import { expect } from 'chai';
import type { Csr } from '../../../src/io/x509/csr-parse.ts';
import { generateKeyPair, type KeyPair } from '../../../src/io/x509/key.ts';
import { type Duration, seconds } from '../../../src/lib/duration.ts';
import { MeshError } from '../../../src/lib/errors.ts';
import { isRotationDue } from '../../../src/mesh_ca/rotation.ts';
import { workloadTemplate } from '../../../src/mesh_ca/signing-policy.ts';
import { DAY, NOW, testSerial } from '../../harness/certificates.ts';

const caller = { trustDomain: 'cluster.local', namespace: 'foo', serviceAccount: 'httpbin' };
const OWN = 'spiffe://cluster.local/ns/foo/sa/httpbin';
const OTHER = 'spiffe://cluster.local/ns/bar/sa/httpbin';
const limits = { defaultTtl: seconds(10 * DAY), maxTtl: seconds(20 * DAY), organization: '' };
const issuer = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2027-01-01T00:00:00Z') };

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
    workloadTemplate({ caller, csr: csr(changes), ttl }, over, within, NOW, testSerial());

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
    ['more than the maximum', seconds(1000 * DAY), 20 * DAY],
    ['a hundred million years', seconds(3e15), 20 * DAY],
  ];
  for (const [what, asked, granted] of LIVES) {
    it(`lets a certificate live ${granted} s when ${what} is asked for`, () => {
      expect(decide({}, asked).notAfter.getTime()).to.equal(NOW.getTime() + granted * 1000);
    });
  }

  it('never grants a default longer than the maximum', () => {
    expect(decide({}, undefined, { ...limits, maxTtl: seconds(60) }).notAfter.getTime()).to.equal(NOW.getTime() + 60_000);
  });

  it('never grants more than the issuer has left', () => {
    const ending = { ...issuer, notAfter: new Date('2026-05-01T13:00:00Z') };
    expect(decide({}, seconds(DAY), limits, ending).notAfter).to.deep.equal(ending.notAfter);
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

describe('rotation', () => {
  const validity = { notBefore: NOW, notAfter: new Date(NOW.getTime() + 100_000) };
  const due = (left: number, ratio: number, minimum: number): boolean =>
    isRotationDue(validity, { ratio, minimum: seconds(minimum) }, new Date(validity.notAfter.getTime() - left * 1000));

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
