import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openKeySetCache } from '../../../src/pilot-discovery/key-set-cache.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';
import { jwksOf, tokenKey } from '../../harness/tokens.ts';

const HOUR = 3_600_000;
const WHERE = 'https://issuer.test/keys';

describe('key sets over a restart', () => {
  const keys = JSON.stringify(JSON.parse(jwksOf(tokenKey('k1'))));
  let directory: string;
  let file: string;
  let logger: MemoryLogger;
  let stop: AbortController;
  let now: Date;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'mesh-keys-'));
    file = join(directory, 'key-sets.json');
    logger = new MemoryLogger();
    stop = new AbortController();
    now = new Date('2026-05-01T00:00:00Z');
  });
  afterEach(() => {
    stop.abort();
    rmSync(directory, { recursive: true, force: true });
  });

  const open = () => openKeySetCache({ directory, now: () => now, logger, signal: stop.signal });
  /** What a server of before has kept. */
  const kept = (fetchedAt = now.getTime(), jwks = keys) =>
    writeFileSync(file, JSON.stringify({ [WHERE]: { jwks, fetchedAt } }), { mode: 0o600 });
  const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

  it('are there again, in a file that only its owner reads', async () => {
    const first = await open();
    first.put(WHERE, keys);
    first.put('https://other.test/keys', keys);
    while (!existsSync(file)) await settled();
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    expect((await open()).get(WHERE))
      .to.equal((await open()).get('https://other.test/keys'))
      .and.include('"kid":"k1"');
    expect(logger.entries.at(-1)?.fields).to.include({ locations: 2 });
  });

  it('are forgotten a day after they were fetched, though the server runs on', async () => {
    kept();
    const cache = await open();
    now = new Date(now.getTime() + 24 * HOUR);
    expect(cache.get(WHERE)).to.not.equal(undefined);
    now = new Date(now.getTime() + 1);
    expect(cache.get(WHERE)).to.equal(undefined);
    expect((await open()).get(WHERE)).to.equal(undefined);
  });

  it('are checked again, and reduced to public keys', async () => {
    kept(now.getTime(), JSON.stringify({ keys: [{ kty: 'oct', k: 'c2VjcmV0' }] }));
    expect((await open()).get(WHERE)).to.equal(undefined);
    kept(now.getTime() + 1);
    expect((await open()).get(WHERE), 'of the future').to.equal(undefined);
  });

  const FOREIGN: readonly (readonly [string, () => void])[] = [
    ['a file that others may write', () => chmodSync(file, 0o620)],
    ['a directory that others may write', () => chmodSync(directory, 0o777)],
    [
      'a link',
      () => {
        renameSync(file, join(directory, 'elsewhere'));
        symlinkSync('elsewhere', file);
      },
    ],
    ['a file too large to be ours', () => writeFileSync(file, ' '.repeat(8 * 1024 * 1024) + readFileSync(file, 'utf8'))],
    ['half a file', () => writeFileSync(file, readFileSync(file, 'utf8').slice(0, 40))],
  ];
  for (const [what, spoil] of FOREIGN) {
    it(`are not taken from ${what}`, async () => {
      kept();
      expect((await open()).get(WHERE)).to.not.equal(undefined);
      spoil();
      expect((await open()).get(WHERE)).to.equal(undefined);
      expect(logger.entries.at(-1)?.message).to.equal('kept key sets are not used');
    });
  }

  it('that cannot be written cost one line in the log', async () => {
    const cache = await open();
    chmodSync(directory, 0o777);
    cache.put(WHERE, keys);
    while (logger.entries.length === 0) await settled();
    expect(logger.entries.map(({ message }) => message)).to.deep.equal(['key sets are not kept over a restart']);
    expect(cache.get(WHERE)).to.equal(keys);
  });
});
