import { mkdtemp, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DirectoryTree, SETTLE_MS } from '../../../../src/sources/store/directory-tree.ts';
import { kinds, service } from '../../../contract/object-store.ts';

describe('directory tree', () => {
  let root: string;
  let clock: number;
  let tree: DirectoryTree;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'mesh-tree-'));
    tree = new DirectoryTree(root, { kinds, validate: undefined }, () => new Date(clock));
  });
  afterEach(() => rm(root, { recursive: true }));

  /** Writes a file and sets the clock to a time after it changed. */
  async function write(name: string, port: number, age: number): Promise<void> {
    await writeFile(join(root, name), JSON.stringify(service(name.replace('.json', ''), 'foo', port)));
    clock = (await stat(join(root, name))).mtimeMs + age;
  }
  const objects = (): readonly unknown[] => [...tree.objects().values()].map(({ object }) => object.spec);
  const spec = (port: number): unknown => service('a', 'foo', port).spec;

  it('leaves a file alone that may still be being written, and looks again', async () => {
    await write('a.json', 1, SETTLE_MS * 10);
    expect(tree.refresh({ patient: true })).to.deep.equal({ unsettled: false });
    await write('a.json', 2, SETTLE_MS / 2);
    expect(tree.refresh({ patient: true })).to.deep.equal({ unsettled: true });
    expect(objects()).to.deep.equal([spec(1)]);
    clock += SETTLE_MS;
    expect(tree.refresh({ patient: true })).to.deep.equal({ unsettled: false });
    expect(objects()).to.deep.equal([spec(2)]);
  });

  it('reads it at once for who cannot wait, and again later, for the time stamp may not tell of the next change', async () => {
    await write('a.json', 1, SETTLE_MS / 2);
    expect(tree.refresh({ patient: false })).to.deep.equal({ unsettled: true });
    expect(objects()).to.deep.equal([spec(1)]);
    clock += SETTLE_MS;
    expect(tree.refresh({ patient: true })).to.deep.equal({ unsettled: false });
  });

  it('reads a file whose time is in the future: the clock may have been set back', async () => {
    await write('a.json', 1, -3_600_000);
    expect(tree.refresh({ patient: true })).to.deep.equal({ unsettled: false });
    expect(objects()).to.deep.equal([spec(1)]);
  });

  it('keeps the objects of a file in force while it moves, however it moves', async () => {
    await write('a.json', 1, SETTLE_MS * 10);
    tree.refresh({ patient: true });
    await rename(join(root, 'a.json'), join(root, 'moved.json'));
    expect(tree.refresh({ patient: true })).to.deep.equal({ unsettled: false });
    expect(objects()).to.deep.equal([spec(1)]);
    await writeFile(join(root, 'copied.json'), await readFile(join(root, 'moved.json')));
    await rm(join(root, 'moved.json'));
    clock = (await stat(join(root, 'copied.json'))).mtimeMs + 1;
    expect(tree.refresh({ patient: true })).to.deep.equal({ unsettled: true });
    expect(objects()).to.deep.equal([spec(1)]);
    clock += SETTLE_MS;
    expect(tree.refresh({ patient: true })).to.deep.equal({ unsettled: false });
    expect(objects()).to.deep.equal([spec(1)]);
  });

  it('does not keep what is gone for long, though files never stop arriving', async () => {
    await write('a.json', 1, SETTLE_MS * 10);
    tree.refresh({ patient: true });
    await rm(join(root, 'a.json'));
    const begin = Date.now();
    for (let waited = 0; waited <= SETTLE_MS * 10; waited += SETTLE_MS) {
      await write(`b${waited}.json`, 2, 1);
      clock = begin + waited;
      await utimes(join(root, `b${waited}.json`), new Date(clock), new Date(clock));
      tree.refresh({ patient: true });
    }
    expect(objects()).to.not.deep.include(spec(1));
  });

  it('keeps the identity of objects whose file did not change', async () => {
    await write('a.json', 1, SETTLE_MS * 10);
    tree.refresh({ patient: true });
    const [before] = tree.objects().values();
    await write('b.json', 2, SETTLE_MS * 10);
    tree.refresh({ patient: true });
    const after = [...tree.objects().values()];
    expect(after).to.have.length(2);
    expect(after[0]).to.equal(before);
  });
});
