import { randomUUID } from 'node:crypto';
import type { Host } from '../io/host.ts';
import { formatProblem } from '../lib/errors.ts';
import { allKinds } from '../rules/config/kinds.ts';
import { type OpenedStore, openStore } from '../sources/store/open.ts';

/** Opens the store of a command, runs the command on it, and closes it. */
export async function withStore<T>(orchconfig: string, host: Host, run: (store: OpenedStore) => Promise<T>): Promise<T> {
  const { env, cwd, now } = host;
  const store = openStore(orchconfig, {
    flag: '--orchconfig (or MESH_ORCHCONFIG)',
    kinds: allKinds(host.names),
    env,
    cwd,
    now,
    newUid: randomUUID,
  });
  try {
    return await run(store);
  } finally {
    await store.close();
  }
}

/** Tells what is wrong with the files of the store: what they say is missing from the answer. */
export function warnOfStoreProblems(store: OpenedStore, host: Host): void {
  for (const problem of store.problems()) warn(host, formatProblem(problem));
}

export function warn(host: Host, message: string): void {
  host.stderr.write(`warning: ${message}\n`);
}
