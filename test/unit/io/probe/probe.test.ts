import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { checkFresh } from '../../../../src/io/probe/probe.ts';
import { seconds } from '../../../../src/lib/duration.ts';
import { MeshError } from '../../../../src/lib/errors.ts';

const TOUCHED = new Date('2026-01-01T00:00:00Z');

describe('probe file', () => {
  let dir: string;
  let file: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'mesh-probe-'));
    file = join(dir, 'alive');
    writeFileSync(file, '');
    utimesSync(file, TOUCHED, TOUCHED);
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  function failure(path: string, ageMs: number): string | undefined {
    try {
      checkFresh(path, seconds(4), new Date(TOUCHED.getTime() + ageMs));
      return undefined;
    } catch (thrown) {
      return MeshError.from(thrown).message;
    }
  }

  for (const age of [0, 4_000, 4_010]) {
    it(`is fresh at ${age} ms of an interval of 4 s`, () => {
      expect(failure(file, age)).to.equal(undefined);
    });
  }

  it('is stale when older than the interval and 10 ms', () => {
    expect(failure(file, 4_011)).to.equal(`${file} was last touched 4.011s ago; a live server does it within 4s`);
  });

  it('fails when the file is missing', () => {
    expect(failure(join(dir, 'none'), 0)).to.match(/^the probe file is not readable: ENOENT/);
  });
});
