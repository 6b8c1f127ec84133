import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { goldenSpecs } from '../../../setup/golden-specs.ts';

describe('the specs that have golden files', () => {
  it('are found by what they read, in all folders', () => {
    const root = mkdtempSync(join(tmpdir(), 'mesh-golden-'));
    const updating = "if (process.env['UPDATE_" + "GOLDEN'] === '1') write();";
    try {
      mkdirSync(join(root, 'b/c'), { recursive: true });
      writeFileSync(join(root, 'b/c/deep.test.ts'), updating);
      writeFileSync(join(root, 'a.test.ts'), updating);
      writeFileSync(join(root, 'plain.test.ts'), "it('compares', () => {});");
      writeFileSync(join(root, 'b/notes.ts'), updating);
      expect(goldenSpecs(root)).to.deep.equal([join(root, 'a.test.ts'), join(root, 'b/c/deep.test.ts')]);
    } finally {
      rmSync(root, { recursive: true });
    }
  });

  it('are the command line, among others', () => {
    expect(goldenSpecs('test/unit')).to.include('test/unit/commands/command-line.test.ts');
  });
});
