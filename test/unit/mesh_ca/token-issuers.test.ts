import { expect } from 'chai';
import { formatProblem } from '../../../src/lib/errors.ts';
import { parseTokenIssuers, remoteLocations, withKeys } from '../../../src/mesh_ca/token-issuers.ts';
import { jwksOf, tokenKey } from '../../harness/tokens.ts';

const jwks = jwksOf(tokenKey('k1'));
const parse = (data: unknown) =>
  parseTokenIssuers({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'mesh-token-issuers' }, data });

describe('the ConfigMap of token issuers', () => {
  it('names issuers with keys in place, at an address, or to be discovered', () => {
    const { issuers, problems } = parse({
      lab: `issuer: mesh-lab\naudiences: [mesh-ca, other]\njwks: ${jwks}\n`,
      text: JSON.stringify({ issuer: 'as-text', jwks }),
      uri: 'issuer: https://b.test\njwksUri: http://keys.test/jwks',
      well: 'issuer: https://c.test',
    });
    expect(problems).to.deep.equal([]);
    expect(issuers.map(({ issuer, audiences, keys }) => [issuer, audiences, keys.type])).to.deep.equal([
      ['mesh-lab', ['mesh-ca', 'other'], 'inline'],
      ['as-text', ['mesh-ca'], 'inline'],
      ['https://b.test', ['mesh-ca'], 'remote'],
      ['https://c.test', ['mesh-ca'], 'remote'],
    ]);
    expect(remoteLocations(issuers)).to.deep.equal([
      { type: 'uri', uri: 'http://keys.test/jwks' },
      { type: 'discovery', issuer: 'https://c.test' },
    ]);
    const known = withKeys(issuers, new Map([['http://keys.test/jwks', 'fetched']]));
    expect(known.map((issuer) => issuer.jwks === undefined)).to.deep.equal([false, false, false, true]);
  });

  const BAD: readonly (readonly [string, string, string])[] = [
    ['no YAML', '{', 'data.bad: not valid YAML'],
    ['no object', '- a', 'data.bad: expected an object'],
    ['no issuer', 'jwksUri: http://a.test', 'data.bad.issuer: is required'],
    ['no keys', 'issuer: mesh-lab', 'data.bad.jwksUri: is needed'],
    [
      'an address of another kind',
      'issuer: a\njwksUri: file:///etc/passwd',
      'data.bad.jwksUri: is needed as an http or https address',
    ],
    ['keys that are none', 'issuer: a\njwks: {keys: []}', 'data.bad.jwks: keys: there is no public key'],
    ['keys twice', `issuer: a\njwksUri: http://a.test\njwks: ${jwks}`, 'data.bad.jwksUri: cannot stand beside jwks'],
    ['audiences that are no list', `issuer: a\naudiences: b\njwks: ${jwks}`, 'data.bad.audiences: expected a list'],
  ];
  for (const [what, text, problem] of BAD) {
    it(`refuses an issuer with ${what}, and keeps the others`, () => {
      const { issuers, problems } = parse({ bad: text, good: `issuer: good\njwks: ${jwks}` });
      expect(issuers.map(({ issuer }) => issuer)).to.deep.equal(['good']);
      expect(problems.map(formatProblem).join('\n')).to.contain(problem);
    });
  }

  it('may be empty', () => {
    expect(parse(undefined)).to.deep.equal({ issuers: [], problems: [] });
  });
});
