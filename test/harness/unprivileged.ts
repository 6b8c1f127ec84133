/** What a user without any privilege needs to run `mesh`: an installation and an Envoy that it may read, and a home. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, cp, link, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { envoyPath } from '../../src/lib/envoy-path.ts';
import type { Runner } from './lab-under-test.ts';

/** `nobody`, as on every Linux. */
const UID = 65534;
const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url));
const IDS = ['setpriv', '--reuid', `${UID}`, '--regid', `${UID}`, '--clear-groups', '--'];

export interface Unprivileged extends Runner {
  /** A directory of that user's own. */
  readonly home: string;
  remove(): Promise<void>;
}

/** Whether the kernel lets a user without privileges make namespaces. */
export function allowsUserNamespaces(): boolean {
  const words = [...prefix(), 'unshare', '--user', '--map-root-user', '--net', '--mount', 'true'];
  return spawnSync(words[0] ?? '', words.slice(1), { cwd: '/' }).status === 0;
}

const isRoot = (): boolean => process.getuid?.() === 0;
const prefix = (): readonly string[] => (isRoot() ? IDS : []);

/** As root: a copy of what is needed, where anybody may read it, run as another user. Otherwise this user and checkout. */
export async function unprivileged(): Promise<Unprivileged> {
  const stage = await mkdtemp(join(tmpdir(), 'mesh-unprivileged-'));
  await chmod(stage, 0o755);
  const home = join(stage, 'home');
  await mkdir(home);
  if (isRoot()) await chown(home, UID, UID);
  for (const path of ['bin', 'dist', 'package.json', 'oclif.manifest.json', 'examples'])
    await cp(join(CHECKOUT, path), join(stage, path), { recursive: true });
  for (const path of await productionPackages()) await placeTree(join(CHECKOUT, path), join(stage, path));
  await place(envoyPath(process.env), join(stage, 'envoy'));
  const { PATH } = process.env;
  return {
    prefix: prefix(),
    mesh: join(stage, 'bin/mesh'),
    env: { PATH, HOME: home, ENVOY_PATH: join(stage, 'envoy') },
    home,
    remove: () => rm(stage, { recursive: true, force: true }),
  };
}

/** Folders of the packages that the built program may import, Node itself included. */
async function productionPackages(): Promise<readonly string[]> {
  const lock: { packages: Record<string, { dev?: boolean; devOptional?: boolean }> } = JSON.parse(
    await readFile(join(CHECKOUT, 'package-lock.json'), 'utf8'),
  );
  return Object.entries(lock.packages)
    .filter(([path, { dev }]) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && dev !== true)
    .map(([path]) => path)
    .filter((path) => existsSync(join(CHECKOUT, path)));
}

async function placeTree(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await placeTree(source, target);
    else await place(source, target);
  }
}

/** A second name costs nothing; across file systems it takes a copy. */
async function place(from: string, to: string): Promise<void> {
  await link(from, to).catch(() => cp(from, to, { dereference: true }));
}
