/** Programs in Go that tests run against, built into the user's cache. */
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ensureGo, goEnvironment } from './go.ts';
import { startOwned } from './owned-process.ts';

export interface GoProgram {
  /** What it is, for the messages of the set-up. */
  readonly title: string;
  /** The folder of its module. */
  readonly source: string;
  /** Where the program is to be. */
  readonly target: string;
  /** Makes code that is not in the source: given a copy of this folder and of these others, which stand as they do here. */
  readonly generate?: {
    readonly with: readonly string[];
    readonly command: readonly [program: string, ...args: string[]];
  };
}

/** Builds it, with whatever it needs of Go's modules. Throws an Error that says what is missing. */
export async function buildGoProgram({ title, source, target, generate }: GoProgram, env: NodeJS.ProcessEnv): Promise<void> {
  const go = ensureGo(title);
  if (go === undefined) throw new Error('Go is not installed; install Go 1.25 or later (1.21 or later fetches it by itself)');
  process.stderr.write(`setup: ${title} (go build, once) ...\n`);
  mkdirSync(dirname(target), { recursive: true });
  const work = mkdtempSync(join(dirname(target), '.build-'));
  const cleanUp = (): void => rmSync(work, { recursive: true, force: true, maxRetries: 5 });
  const run = async (program: string, args: readonly string[], cwd: string): Promise<void> => {
    const path = `${env['PATH'] ?? ''}:${dirname(go)}`;
    const buildEnv = { ...goEnvironment(env, work), CGO_ENABLED: '0', PATH: path };
    const [status] = await once(startOwned(program, args, { cwd, env: buildEnv, stdio: ['ignore', 2, 2] }, cleanUp), 'close');
    if (status !== 0) throw new Error(`${program} has failed on ${source}; its message stands above`);
  };
  try {
    const unfinished = join(work, 'program');
    let directory = source;
    if (generate !== undefined) {
      for (const folder of [source, ...generate.with]) cpSync(folder, join(work, 'tree', folder), { recursive: true });
      directory = join(work, 'tree', source);
      const [program, ...args] = generate.command;
      await run(program, args, directory);
    }
    await run(go, ['build', '-trimpath', '-buildvcs=false', '-o', unfinished, '.'], directory);
    renameSync(unfinished, target);
  } finally {
    cleanUp();
  }
}
