/**
 * Bundles the sources into dist/ with esbuild, every command an entry of its own so that starting one loads only that one,
 * and writes oclif.manifest.json, which describes them all.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

import { type BuildOptions, build } from 'esbuild';
import { type Step, stampOf } from './step.ts';

const OUT_DIR = 'dist';
/** Built here first, so that a build that fails leaves the last good one. */
const NEW_DIR = 'build/dist';
/** Where bin/mesh keeps compiled code: of no use to another build. */
const COMPILE_CACHE = 'build/compile-cache';
/** Built by itself: see there. */
const QUICK_ENTRY = 'src/quick.ts';
const ENTRIES = ['src/mesh.ts', 'src/flags/help.ts', 'src/commands/**/*.ts'];
export const MANIFEST = 'oclif.manifest.json';

/** CommonJS packages inside an ES module still ask for these. */
const COMMONJS_BANNER = `import { createRequire as __createRequire } from 'node:module';
const require = __createRequire(import.meta.url);`;

/** Loaded from node_modules: oclif finds its plugins there, and the others read files beside themselves. */
const EXTERNAL = ['@oclif/*', '@grpc/grpc-js', '@grpc/proto-loader', 'grpc-health-check', 'fsevents'];

interface Build {
  readonly revision: string;
  readonly status: 'clean' | 'modified' | 'unknown';
}

/** What `version` prints; `unknown` where there is no git repository. */
function describeBuild(): Build {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const changed = git('status', '--porcelain', '--untracked-files=no', '--', 'src', 'proto', 'package-lock.json');
    return { revision: git('rev-parse', 'HEAD'), status: changed === '' ? 'clean' : 'modified' };
  } catch {
    return { revision: 'unknown', status: 'unknown' };
  }
}

const sources = (): string[] => [...globSync('src/**/*.{ts,json}'), ...globSync('build/gen/**/*.ts')].sort();

async function bundle(): Promise<void> {
  rmSync(NEW_DIR, { recursive: true, force: true });
  const common = {
    outdir: NEW_DIR,
    outbase: 'src',
    bundle: true,
    platform: 'node',
    target: 'node24',
    minifySyntax: true,
    legalComments: 'none',
    keepNames: true,
    sourcemap: 'linked',
    define: { MESH_BUILD: JSON.stringify(describeBuild()) },
    logLevel: 'warning',
  } as const satisfies BuildOptions;
  await build({
    ...common,
    entryPoints: ENTRIES.flatMap((pattern) => globSync(pattern)).sort(),
    splitting: true,
    format: 'esm',
    external: EXTERNAL,
    banner: { js: COMMONJS_BANNER },
  });
  await build({
    ...common,
    entryPoints: [QUICK_ENTRY],
    format: 'cjs',
    outExtension: { '.js': '.cjs' },
    // With a logging flag the other entry is chosen.
    external: [...EXTERNAL, './winston.ts'],
  });
  const text = await manifest();
  rmSync(OUT_DIR, { recursive: true, force: true });
  rmSync(COMPILE_CACHE, { recursive: true, force: true });
  renameSync(NEW_DIR, OUT_DIR);
  writeFileSync(MANIFEST, text);
}

/** The manifest's text: the same for the same commands, whatever the order files are found in. */
export async function manifest(): Promise<string> {
  const { commandManifest } = await import('../src/flags/manifest.ts');
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  return `${JSON.stringify(await commandManifest(version), null, 2)}\n`;
}

export const bundleStep: Step = {
  name: 'bundle',
  stamp: () => {
    const files = [
      ...sources(),
      'package.json',
      'package-lock.json',
      'setup/bundle.ts',
      ...(existsSync(MANIFEST) ? [MANIFEST] : []),
    ];
    return `${stampOf(files)} ${JSON.stringify(describeBuild())}`;
  },
  output: `${OUT_DIR}/mesh.js`,
  run: bundle,
};
