import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { createJwksFetcher, type JwksFetcher } from '../../../../src/io/jwks/fetcher.ts';
import { DEFAULT_JWKS_LIMITS, type JwksLimits, jwksLocationKey } from '../../../../src/io/jwks/source.ts';
import { milliseconds } from '../../../../src/lib/duration.ts';
import { FakeFetchClock } from '../../../fakes/fetch-clock.ts';
import { MemoryLogger } from '../../../fakes/memory-logger.ts';
import { jwksOf, tokenKey } from '../../../harness/tokens.ts';

const DAY_MS = 24 * 3600 * 1000;

/** The text as the fetcher keeps it. */
const kept = (jwks: string | undefined): readonly string[] =>
  jwks === undefined ? [] : JSON.parse(jwks).keys.map(({ kid }: { kid: string }) => kid);

describe('the key set fetcher', () => {
  const first = tokenKey('first');
  const second = tokenKey('second');
  let server: Server;
  let origin: string;
  let answer: RequestListener;
  let requests: string[];
  let stop: AbortController;
  let clock: FakeFetchClock;
  let logger: MemoryLogger;
  let outcomes: boolean[];
  let changes: number;
  let onOutcome: () => void;

  const serve =
    (text: string): RequestListener =>
    (_request, response) =>
      response.end(text);
  const fail: RequestListener = (_request, response) => response.writeHead(503).end();

  before((done) => {
    server = createServer((request, response) => {
      requests.push(request.url ?? '');
      answer(request, response);
    });
    server.listen(0, '127.0.0.1', () => {
      origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      done();
    });
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    requests = [];
    outcomes = [];
    changes = 0;
    onOutcome = () => {};
    stop = new AbortController();
    clock = new FakeFetchClock();
    logger = new MemoryLogger();
  });
  afterEach(() => stop.abort());

  function create(limits: JwksLimits = DEFAULT_JWKS_LIMITS): JwksFetcher {
    return createJwksFetcher({
      fetch: (url, init) => fetch(url, init),
      clock,
      random: () => 1,
      logger,
      signal: stop.signal,
      limits,
      onChange: () => {
        changes += 1;
      },
      onFetch: (success) => {
        outcomes.push(success);
        setImmediate(() => onOutcome());
      },
    });
  }

  /** Goes on in time and waits for the end of one fetch. */
  function fetched(advance = 0): Promise<void> {
    return new Promise((resolve) => {
      onOutcome = resolve;
      clock.advance(advance);
    });
  }

  it('fetches at once, tells the change, and refreshes after 20 minutes', async () => {
    answer = serve(jwksOf(first));
    const fetcher = create();
    const location = { type: 'uri', uri: `${origin}/keys` } as const;
    fetcher.setSources([location]);
    await fetched();
    expect(kept(fetcher.keySets().get(jwksLocationKey(location)))).to.deep.equal(['first']);
    expect([changes, clock.pending()]).to.deep.equal([1, [1_320_000]]);
    answer = serve(jwksOf(first, second));
    await fetched(1_320_000);
    expect(kept(fetcher.keySets().get(location.uri))).to.deep.equal(['first', 'second']);
    expect(changes).to.equal(2);
    await fetched(1_320_000);
    expect([changes, outcomes]).to.deep.equal([2, [true, true, true]]);
  });

  it('comes back quickly to a server that is down at first', async () => {
    answer = fail;
    const fetcher = create();
    fetcher.setSources([{ type: 'uri', uri: `${origin}/keys` }]);
    await fetched();
    expect([fetcher.keySets().size, changes, clock.pending()]).to.deep.equal([0, 0, [500]]);
    answer = serve(jwksOf(first));
    await fetched(500);
    expect([fetcher.keySets().size, changes, outcomes]).to.deep.equal([1, 1, [false, true]]);
    expect(logger.entries[0]?.fields).to.include({ reason: `${origin}/keys answered with HTTP status 503, not 200` });
  });

  const BAD: readonly (readonly [string, RequestListener, string])[] = [
    ['an error page', serve('<html>'), 'is not JSON'],
    ['an empty set', serve('{"keys":[]}'), 'there is no public key'],
    ['an endless document', (_request, response) => response.end('x'.repeat(2_000_000)), 'is longer than 1048576 bytes'],
    ['a broken connection', (request) => request.socket.destroy(), 'cannot be fetched'],
    [
      'a redirect loop',
      (_request, response) => response.writeHead(302, { location: '/keys' }).end(),
      'redirects more than 3 times',
    ],
    [
      'a redirect to a file',
      (_request, response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
      'not an http or https address',
    ],
  ];
  for (const [what, listener, reason] of BAD) {
    it(`keeps the last good copy when the server turns to ${what}`, async () => {
      answer = serve(jwksOf(first));
      const fetcher = create();
      fetcher.setSources([{ type: 'uri', uri: `${origin}/keys` }]);
      await fetched();
      answer = listener;
      await fetched(1_320_000);
      expect([...fetcher.keySets().values()].map(kept)).to.deep.equal([['first']]);
      expect([changes, outcomes]).to.deep.equal([1, [true, false]]);
      expect(logger.text()).to.contain(reason);
    });
  }

  it('gives up on a server that never answers', async () => {
    answer = () => {};
    create({ ...DEFAULT_JWKS_LIMITS, timeout: milliseconds(30) }).setSources([{ type: 'uri', uri: `${origin}/keys` }]);
    await fetched();
    expect(logger.text()).to.contain('did not answer within 30 ms');
  });

  it('follows a redirect', async () => {
    answer = (request, response) =>
      request.url === '/keys' ? response.writeHead(307, { location: '/moved' }).end() : response.end(jwksOf(first));
    const fetcher = create();
    fetcher.setSources([{ type: 'uri', uri: `${origin}/keys` }]);
    await fetched();
    expect(requests).to.deep.equal(['/keys', '/moved']);
    expect(fetcher.keySets().size).to.equal(1);
  });

  it('discovers the keys of an issuer', async () => {
    answer = (request, response) =>
      response.end(
        request.url === '/.well-known/openid-configuration'
          ? JSON.stringify({ issuer: origin, jwks_uri: `${origin}/jwks` })
          : jwksOf(first),
      );
    const fetcher = create();
    fetcher.setSources([{ type: 'discovery', issuer: origin }]);
    await fetched();
    expect(kept(fetcher.keySets().get(jwksLocationKey({ type: 'discovery', issuer: origin })))).to.deep.equal(['first']);
  });

  it('refuses a discovery document of another issuer', async () => {
    answer = serve(JSON.stringify({ issuer: 'https://other.test', jwks_uri: `${origin}/jwks` }));
    create().setSources([{ type: 'discovery', issuer: origin }]);
    await fetched();
    expect(logger.text()).to.contain('is of issuer');
    expect(requests).to.deep.equal(['/.well-known/openid-configuration']);
  });

  it('fetches nothing for what is not needed any more, and has it at once when it comes back', async () => {
    answer = serve(jwksOf(first));
    const fetcher = create();
    const location = { type: 'uri', uri: `${origin}/keys` } as const;
    fetcher.setSources([location]);
    await fetched();
    fetcher.setSources([]);
    expect([fetcher.keySets().size, clock.pending(), changes]).to.deep.equal([0, [], 2]);
    clock.advance(DAY_MS);
    fetcher.setSources([location]);
    expect([fetcher.keySets().size, clock.pending(), changes]).to.deep.equal([1, [0], 3]);
  });

  it('forgets what was not needed for a week', async () => {
    answer = serve(jwksOf(first));
    const fetcher = create();
    const location = { type: 'uri', uri: `${origin}/keys` } as const;
    fetcher.setSources([location]);
    await fetched();
    fetcher.setSources([]);
    clock.advance(7 * DAY_MS + 1);
    fetcher.setSources([]);
    fetcher.setSources([location]);
    expect(fetcher.keySets().size).to.equal(0);
  });

  it('leaves no timer behind when it is stopped', async () => {
    answer = serve(jwksOf(first));
    const fetcher = create();
    fetcher.setSources([{ type: 'uri', uri: `${origin}/keys` }]);
    await fetched();
    stop.abort();
    expect(clock.pending()).to.deep.equal([]);
    fetcher.setSources([{ type: 'uri', uri: `${origin}/more` }]);
    expect(clock.pending()).to.deep.equal([]);
  });
});
