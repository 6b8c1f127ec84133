/** Our reader of signing requests against the ASN.1 library, on requests that a hostile sender made and signed. */
import { execFileSync } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { createCsr } from '../../../../src/io/x509/csr.ts';
import { parseCsr } from '../../../../src/io/x509/csr-parse.ts';
import {
  bitString,
  boolean,
  implicitList,
  objectIdentifier,
  octetString,
  sequence,
  setOf,
  unsignedInteger,
} from '../../../../src/io/x509/der.ts';
import { DerReader, READ_TAG } from '../../../../src/io/x509/der-read.ts';
import { generateKeyPair, type KeyPair, publicKeyDer } from '../../../../src/io/x509/key.ts';
import { encodeAltNames, encodeSubject, type SubjectAltName } from '../../../../src/io/x509/names.ts';
import { OID } from '../../../../src/io/x509/oids.ts';
import { decodePem } from '../../../../src/io/x509/pem.ts';
import { signDer, signingAlgorithm } from '../../../../src/io/x509/signature.ts';
import { libraryCsr } from '../../../harness/csr-oracle.ts';

const SPIFFE = 'spiffe://cluster.local/ns/foo/sa/httpbin';

/** What is signed of a request. */
const infoOf = (der: Uint8Array): Uint8Array => new DerReader(der).enter(READ_TAG.sequence).element(READ_TAG.sequence);

/** A request with this content, signed by the sender. */
async function signed(info: Uint8Array, { privateKey }: Pick<KeyPair, 'privateKey'>): Promise<Uint8Array> {
  const { identifier, hash } = signingAlgorithm(privateKey);
  return sequence(info, identifier, bitString(await signDer(hash, info, privateKey)));
}

/** One request of openssl with everything that it can be asked to write. */
function opensslRequest(): { readonly der: Uint8Array; readonly pair: Pick<KeyPair, 'privateKey'> } {
  const dir = mkdtempSync(join(tmpdir(), 'mesh-csr-'));
  const names = 'subjectAltName=URI:spiffe://td/ns/a/sa/b,DNS:a.b,IP:10.0.0.1,email:a@b.c,RID:1.2.3.4,otherName:1.2.3;UTF8:x';
  const key = join(dir, 'key.pem');
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key];
  const extensions = [
    '-addext',
    names,
    '-addext',
    'basicConstraints=critical,CA:TRUE,pathlen:1',
    '-addext',
    'keyUsage=keyCertSign',
  ];
  try {
    const subject = '/C=DE/O=Größe/CN=first+UID=7/CN=second';
    const pem = execFileSync('openssl', ['req', '-new', '-utf8', ...curve, '-subj', subject, '-multivalue-rdn', ...extensions], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const blocks = decodePem(pem);
    const [block] = blocks.ok ? blocks.value : [];
    return { der: block?.der ?? expect.fail(), pair: { privateKey: createPrivateKey(readFileSync(key, 'utf8')) } };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/**
 * Whatever ours takes, the library reads in the same way, or not at all: it also minds what ours passes over, such as the inside of
 * attributes that mean nothing here.
 */
function expectAgreement(der: Uint8Array): boolean {
  const parsed = parseCsr(der);
  if (!parsed.ok) return false;
  const { publicKey, ...ours } = parsed.value;
  let library: ReturnType<typeof libraryCsr>;
  try {
    library = libraryCsr(der);
  } catch {
    return false;
  }
  const { spki, ...rest } = library;
  expect(ours).to.deep.equal(rest);
  expect(Buffer.from(publicKeyDer(publicKey)).toString('hex')).to.equal(spki);
  return true;
}

describe('signing requests of hostile senders', () => {
  let pair: KeyPair;
  let seeds: readonly { readonly der: Uint8Array; readonly pair: Pick<KeyPair, 'privateKey'> }[];
  before(async () => {
    pair = await generateKeyPair('ec-p256');
    const own = await createCsr({ ...pair, uriSans: [SPIFFE], dnsSans: ['a.b'], organization: 'mesh', commonName: 'x' });
    seeds = [{ der: own.der, pair }, opensslRequest()];
  });

  it('that are in order are read as the library reads them', () => {
    for (const { der } of seeds) expect(expectAgreement(der)).to.equal(true);
  });

  it('are read as the library reads them, or refused, whatever bytes are replaced', async () => {
    const edit = fc.record({
      seed: fc.nat({ max: 1 }),
      at: fc.nat({ max: 400 }),
      remove: fc.nat({ max: 3 }),
      insert: fc.uint8Array({ maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 2 }), async (edits) => {
        const seed = seeds[edits[0]?.seed ?? 0] ?? expect.fail();
        let info = Buffer.from(infoOf(seed.der));
        for (const { at, remove, insert } of edits) {
          const index = at % info.length;
          info = Buffer.concat([info.subarray(0, index), insert, info.subarray(index + remove)]);
        }
        expectAgreement(await signed(info, seed.pair));
      }),
      { numRuns: 1_500 },
    );
  });

  it('are read as the library reads them, whatever names they ask for', async () => {
    const text = fc.stringMatching(/^[\x21-\x7e]{1,300}$/);
    const name: fc.Arbitrary<SubjectAltName> = fc.oneof(
      fc.record({ type: fc.constantFrom('uri', 'dns', 'email'), value: text }),
      fc.record({ type: fc.constant('ip'), value: fc.ipV4() }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(name, { minLength: 1, maxLength: 12 }), fc.boolean(), async (names, asksForCa) => {
        const wanted = [
          sequence(objectIdentifier(OID.subjectAltName), octetString(encodeAltNames(names))),
          ...(asksForCa ? [sequence(objectIdentifier(OID.basicConstraints), octetString(sequence(boolean(true))))] : []),
        ];
        expect(expectAgreement(await signed(requestInfo(...wanted), pair))).to.equal(true);
      }),
      { numRuns: 150 },
    );
  });

  function requestInfo(...extensions: readonly Uint8Array[]): Uint8Array {
    const attribute = sequence(objectIdentifier(OID.extensionRequest), setOf(sequence(...extensions)));
    const version = unsignedInteger(Uint8Array.of(0));
    return sequence(version, encodeSubject({}), publicKeyDer(pair.publicKey), implicitList(0, attribute));
  }
  const altNames = (): Uint8Array =>
    sequence(objectIdentifier(OID.subjectAltName), octetString(encodeAltNames([{ type: 'uri', value: SPIFFE }])));
  const raw = (hex: string): Uint8Array => Buffer.from(hex, 'hex');

  const REFUSED: readonly (readonly [string, () => Uint8Array])[] = [
    ['an extension twice', () => requestInfo(altNames(), altNames())],
    [
      'a default value that is written down',
      () => requestInfo(sequence(objectIdentifier(OID.basicConstraints), octetString(sequence(boolean(false))))),
    ],
    [
      'an address of five bytes',
      () => requestInfo(sequence(objectIdentifier(OID.subjectAltName), octetString(raw('300787050a00000001')))),
    ],
    [
      'a name that is not ASCII',
      () => requestInfo(sequence(objectIdentifier(OID.subjectAltName), octetString(raw('30038601ff')))),
    ],
    ['a name of no kind', () => requestInfo(sequence(objectIdentifier(OID.subjectAltName), octetString(raw('300389017a'))))],
    [
      'bytes after the names',
      () => requestInfo(sequence(objectIdentifier(OID.subjectAltName), octetString(raw('300386017a00')))),
    ],
    ['an empty list of names', () => requestInfo(sequence(objectIdentifier(OID.subjectAltName), octetString(raw('3000'))))],
    [
      'a thousand extensions',
      () =>
        requestInfo(
          ...Array.from({ length: 1_000 }, (_, index) => sequence(objectIdentifier(`1.3.6.1.${index}`), octetString(raw('00')))),
        ),
    ],
    [
      'another version',
      () => sequence(unsignedInteger(Uint8Array.of(1)), encodeSubject({}), publicKeyDer(pair.publicKey), implicitList(0)),
    ],
  ];
  for (const [what, info] of REFUSED) {
    it(`are refused with ${what}`, async () => {
      const parsed = parseCsr(await signed(info(), pair));
      expect(parsed.ok ? 'accepted' : parsed.problems[0]?.message).to.contain('malformed');
    });
  }

  it('are refused with extensions requested twice', async () => {
    const attribute = sequence(objectIdentifier(OID.extensionRequest), setOf(sequence(altNames())));
    const version = unsignedInteger(Uint8Array.of(0));
    const info = sequence(version, encodeSubject({}), publicKeyDer(pair.publicKey), implicitList(0, attribute, attribute));
    expect(parseCsr(await signed(info, pair)).ok).to.equal(false);
  });

  it('are refused with lengths that are not in their shortest form, wherever they stand', async () => {
    const info = Buffer.from(requestInfo(altNames()));
    const at = info.indexOf(raw('0603551d11'));
    const long = Buffer.concat([info.subarray(0, at + 1), raw('8103'), info.subarray(at + 2)]);
    expect(parseCsr(await signed(long, pair)).ok).to.equal(false);
    const whole = await signed(requestInfo(altNames()), pair);
    const padded = Buffer.concat([raw('3083'), raw((whole.length - 4).toString(16).padStart(6, '0')), whole.subarray(4)]);
    expect(parseCsr(padded).ok).to.equal(false);
    expect(parseCsr(whole).ok).to.equal(true);
  });
});
