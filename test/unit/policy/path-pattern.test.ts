import { expect } from 'chai';
import fc from 'fast-check';
import type { StringMatch } from '../../../src/model/authn-policy.ts';
import { pathPattern } from '../../../src/policy/path-pattern.ts';

/** What a match means: it looks at the path without query and fragment, and a regex matches it whole. */
function matchesPath({ type, value }: StringMatch, target: string): boolean {
  const path = target.replace(/[?#].*$/, '');
  switch (type) {
    case 'exact':
      return path === value;
    case 'prefix':
      return path.startsWith(value);
    case 'suffix':
      return path.endsWith(value);
    case 'regex':
      return new RegExp(`^(?:${value})$`).test(path);
  }
}

const asEnvoyMatches = (pattern: string, target: string): boolean => new RegExp(`^(?:${pattern})$`).test(target);

describe('pathPattern', () => {
  it('matches a header with a query as the rule matches the path', () => {
    const piece = fc.constantFrom('/', 'a', 'b', '.', '?', '#', '=', '+', 'open');
    const target = fc.array(piece, { maxLength: 8 }).map((pieces) => `/${pieces.join('')}`);
    const literal = fc.array(fc.constantFrom('/', 'a', 'b', '.', '+', 'open'), { maxLength: 4 }).map((pieces) => pieces.join(''));
    const regex = fc.constantFrom(
      '/a.*b',
      '/.*',
      '/(a|b)+/open',
      '/[^/]*',
      '/[a-z]+/?',
      '/\\w+\\.\\w+',
      '^/a$',
      '/\\S*',
      '/[ab?]+',
      '.{2,3}',
      '/a|/b$',
    );
    const match: fc.Arbitrary<StringMatch> = fc.oneof(
      fc.record({ type: fc.constantFrom<StringMatch['type']>('exact', 'prefix', 'suffix'), value: literal }),
      fc.record({ type: fc.constant<StringMatch['type']>('regex'), value: regex }),
    );
    fc.assert(
      fc.property(match, target, (rule, path) => {
        const pattern = pathPattern(rule);
        expect(pattern).to.not.equal(undefined);
        expect(asEnvoyMatches(pattern ?? '', path)).to.equal(matchesPath(rule, path));
      }),
      { numRuns: 2000 },
    );
  });

  const unusable = [
    '/a(?=b)',
    '/(?<name>a)',
    '(a)\\1',
    '/a[!-~]',
    '/a$b',
    '(/a$)b',
    '/\\?a',
    '(',
    '*',
    '/a{1,2000}',
    '[[:alpha:]]',
    '/\\pL',
    '(?i)/a',
  ];
  for (const value of unusable) {
    it(`does not trust the regex ${value}`, () => expect(pathPattern({ type: 'regex', value })).to.equal(undefined));
  }

  it('does not trust a text that no path can hold', () => {
    expect(pathPattern({ type: 'prefix', value: '/a?b' })).to.equal(undefined);
  });
});
