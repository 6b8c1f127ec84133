import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DirectoryStore } from '../../src/sources/store/directory.ts';
import { MemoryStore } from '../../src/sources/store/memory.ts';
import type { ObjectStore } from '../../src/sources/store/object-store.ts';
import { describeObjectStore, kinds } from './object-store.ts';

const now = (): Date => new Date();

describeObjectStore('memory', async () => {
  const store = new MemoryStore({ kinds, now, newUid: randomUUID });
  return { store, another: async () => store, dispose: () => store.close() };
});

describeObjectStore('directory', async () => {
  const root = await mkdtemp(join(tmpdir(), 'mesh-store-'));
  const opened: ObjectStore[] = [];
  const open = (): ObjectStore => {
    const store = new DirectoryStore({ root, kinds, now, newUid: randomUUID });
    opened.push(store);
    return store;
  };
  const dispose = async (): Promise<void> => {
    for (const store of opened) await store.close();
    await rm(root, { recursive: true, force: true });
  };
  return { store: open(), another: async () => open(), dispose };
});
