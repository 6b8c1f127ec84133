import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { printable } from '../../../../src/io/log/printable.ts';
import { Redacted } from '../../../../src/lib/redacted.ts';

const KEY = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});
const TOKEN = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJlLXRoYXQtaXMtbG9uZw';

const SHOWN: readonly (readonly [what: string, value: unknown, shown: unknown])[] = [
  ['a redacted secret', { deep: [new Redacted('hunter2')] }, { deep: ['[redacted]'] }],
  ['a private key in a text', `read ${KEY.privateKey} from x`, 'read [redacted private key]\n from x'],
  ['the beginning of a private key', KEY.privateKey.slice(0, 60), '[redacted private key]'],
  ['a public key', KEY.publicKey, KEY.publicKey],
  ['a token in an error', new Error(`refused: Bearer ${TOKEN}`), 'refused: Bearer [redacted token]'],
  ['a password in a URL', 'http://alice:hunter2@host:80/a@b', 'http://alice:[redacted]@host:80/a@b'],
  ['a URL with a port', 'http://host:80/a@b', 'http://host:80/a@b'],
  ['a SPIFFE id', 'spiffe://cluster.local/ns/a/sa/b', 'spiffe://cluster.local/ns/a/sa/b'],
  ['bytes', new Uint8Array(7), '<7 bytes>'],
  ['a long text', 'x'.repeat(20_000), `${'x'.repeat(16_384)}... (3616 more characters)`],
];

describe('what is logged of a value', () => {
  for (const [what, value, shown] of SHOWN)
    it(what, () => {
      expect(printable(value)).to.deep.equal(shown);
    });

  it('ends at cycles and in the deep', () => {
    let deep: unknown = 'bottom';
    for (let i = 0; i < 100_000; i++) deep = [deep];
    expect(JSON.stringify(printable(deep))).to.match(/^\[+"<deeper>"\]+$/);
  });
});
