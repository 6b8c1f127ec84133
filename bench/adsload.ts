/** The load driver for discovery (Go): found, or built into the cache from its sources beside the checkout. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ensureGo } from '../setup/go.ts';
import { stampOf } from '../setup/step.ts';

/** Beside the checkout, where those who have it keep it. */
const SOURCE_DIR = '../shared/tools/adsload';

export interface Adsload {
  readonly program: string;
  /** Writes the manifests of a mesh and the changes to make to it: `gen-mesh.py DIR SERVICES`. */
  readonly generator: string;
}

/** `ADSLOAD` names a binary whose folder has the generator; otherwise it is built from source. A string says why it cannot be had. */
export function findAdsload(env: NodeJS.ProcessEnv): Adsload | string {
  const given = env['ADSLOAD'];
  if (given !== undefined && given !== '') return complete(given, join(dirname(given), 'gen-mesh.py'));
  if (!existsSync(SOURCE_DIR)) {
    return `the load driver adsload is neither at ${SOURCE_DIR} nor named by ADSLOAD (the binary, with gen-mesh.py beside it)`;
  }
  const program = build(env);
  if (program === undefined) return `${SOURCE_DIR} could not be built: it needs Go, and its modules`;
  return complete(program, join(SOURCE_DIR, 'gen-mesh.py'));
}

function complete(program: string, generator: string): Adsload | string {
  const missing = [program, generator].find((path) => !existsSync(path));
  return missing === undefined ? { program, generator } : `${missing} is missing`;
}

function build(env: NodeJS.ProcessEnv): string | undefined {
  const sources = readdirSync(SOURCE_DIR).filter((file) => /\.go$|^go\.(mod|sum)$/.test(file));
  const stamp = stampOf(sources.sort().map((file) => join(SOURCE_DIR, file))).slice(0, 16);
  const cache = env['XDG_CACHE_HOME'] || join(env['HOME'] ?? '/root', '.cache');
  const target = join(cache, 'mesh/bench', `adsload-${stamp}`);
  if (existsSync(target)) return target;
  const go = ensureGo('the load driver of the discovery benches');
  if (go === undefined) return undefined;
  process.stderr.write('bench: adsload (go build) ...\n');
  mkdirSync(dirname(target), { recursive: true });
  const unfinished = `${target}.${process.pid}`;
  const args = ['build', '-trimpath', '-buildvcs=false', '-o', unfinished, '.'];
  const { status } = spawnSync(go, args, { cwd: SOURCE_DIR, stdio: ['ignore', 2, 2] });
  if (status !== 0) return undefined;
  renameSync(unfinished, target);
  return target;
}
