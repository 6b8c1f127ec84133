import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import type { CheckResult } from '../../../../src/mixs/adapter/adapter.ts';
import { parseList } from '../../../../src/mixs/adapter/list-source.ts';
import { openListChecker } from '../../../../src/mixs/adapter/listchecker.ts';
import { listchecker } from '../../../../src/rules/adapter/listchecker.ts';
import { adapterEnvironment } from '../../../fakes/adapter-environment.ts';

function open(spec: object, elapsed?: () => number) {
  const params = listchecker.parse(spec, []);
  if (!params.ok) throw new Error(JSON.stringify(params.problems));
  const environment = adapterEnvironment(undefined, elapsed);
  const handler = openListChecker(params.value, environment);
  const check = (value: string): CheckResult => {
    const result = handler.check?.({ template: 'listentry', values: { name: 'e', value } }, { signal: environment.signal });
    if (result === undefined || result instanceof Promise) throw new Error('a list is looked into at once');
    return result;
  };
  return { check, code: (value: string) => check(value).status.code, environment };
}

describe('the listchecker adapter', () => {
  const LISTS: readonly (readonly [
    type: string,
    entries: readonly string[],
    has: readonly string[],
    hasNot: readonly string[],
  ])[] = [
    ['STRINGS', ['a', 'B'], ['a', 'B'], ['b', 'A', '']],
    ['CASE_INSENSITIVE_STRINGS', ['a', 'B'], ['A', 'b'], ['c']],
    [
      'IP_ADDRESSES',
      ['10.0.0.0/8', '2001:db8::1'],
      ['10.1.2.3', '::ffff:10.1.2.3', '2001:db8:0::1'],
      ['11.0.0.1', '2001:db8::2', 'x'],
    ],
    ['REGEX', ['^a+$', 'x'], ['aaa', 'bxb'], ['ab']],
  ];
  for (const [entryType, overrides, has, hasNot] of LISTS) {
    it(`looks for ${entryType}`, () => {
      const { code } = open({ entryType, overrides });
      expect(has.map(code)).to.deep.equal(has.map(() => 0));
      expect(hasNot.map(code)).to.deep.equal(hasNot.map(() => 5));
    });
  }

  it('refuses what is on a blacklist', () => {
    const { check } = open({ overrides: ['bad'], blacklist: true, cachingInterval: '1m', cachingUseCount: 3 });
    expect(check('bad')).to.deep.equal({ status: { code: 7, message: 'bad is blacklisted' }, validMs: 60_000, validUses: 3 });
    expect(check('good').status.code).to.equal(0);
  });

  it('tells wrong entries with their place', () => {
    const problems = (spec: object): unknown => {
      const parsed = listchecker.parse(spec, []);
      return parsed.ok ? [] : parsed.problems.map(({ path }) => path);
    };
    expect(problems({ entryType: 'IP_ADDRESSES', overrides: ['10.0.0.1', '10.0.0.0/99'] })).to.deep.equal(['overrides[1]']);
    expect(problems({ entryType: 'REGEX', overrides: ['a('] })).to.deep.equal(['overrides[0]']);
    expect(problems({ providerUrl: 'ftp://x', refreshInterval: '1ms' })).to.deep.equal(['providerUrl', 'refreshInterval']);
  });

  it('reads lists of lines, and of YAML', () => {
    expect(parseList('a\n# no\n\n  b c \r\n')).to.deep.equal(['a', 'b c']);
    expect(parseList('whitelist: ["a", b]\n')).to.deep.equal(['a', 'b']);
    expect(() => parseList('blacklist: [1]')).to.throw('entries that are no text');
  });

  describe('with a list from a URL', () => {
    let server: Server;
    let url: string;
    let answer: { status: number; body: string };

    before(async () => {
      server = createServer((_, response) => {
        response.statusCode = answer.status;
        response.end(answer.body);
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/list`;
    });

    after(() => server.close());

    const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

    it('admits nobody before it is read, and keeps the last good one as long as it may', async () => {
      let ms = 0;
      answer = { status: 200, body: 'a\n' };
      const { check, code, environment } = open({ providerUrl: url, refreshInterval: '1s', ttl: '10s' }, () => ms);
      try {
        expect(check('a')).to.deep.equal({
          status: { code: 14, message: `the list at ${url} cannot be read` },
          validMs: 0,
          validUses: 0,
        });
        while (code('a') !== 0) await turn();
        expect(code('b')).to.equal(5);
        answer = { status: 500, body: '' };
        while (!environment.logger.entries.some(({ level }) => level === 'warn')) await turn();
        expect(code('a')).to.equal(0);
        ms = 11_000;
        expect(code('a')).to.equal(14);
        answer = { status: 200, body: 'b\n' };
        while (code('b') !== 0) await turn();
      } finally {
        environment.end();
      }
    });
  });
});
