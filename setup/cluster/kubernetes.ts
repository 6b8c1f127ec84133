/**
 * Builds the real API server and controller manager from their Go modules (setup/cluster/go) into the user's cache. A build is put
 * in its place as a whole and at the end, so that one that was broken off is never taken for a good one.
 */
import { type ChildProcess, type StdioOptions, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { ensureGo, goEnvironment } from '../go.ts';
import { endGroup, startOwned } from '../owned-process.ts';
import { KUBERNETES_SOURCE, KUBERNETES_VERSION, kubernetesDirectory } from './programs.ts';

const MINUTE_MS = 60_000;
const DOWNLOAD_LIMIT_MS = 10 * MINUTE_MS;
const BUILD_LIMIT_MS = 30 * MINUTE_MS;
/** Where there is no terminal, this often a line tells how far the build is. */
const PROGRESS_MS = 15_000;
const UNFINISHED = '.build-';
const VERSION_PACKAGE = 'k8s.io/component-base/version';

/** Throws with what to do when it cannot be built. */
export async function ensureKubernetes(env: NodeJS.ProcessEnv): Promise<void> {
  const target = kubernetesDirectory(env);
  if (existsSync(target)) return;
  const go = ensureGo('the API server of the tests');
  if (go === undefined || !fetchesToolchains(go)) {
    const found = go === undefined ? 'Go is not installed' : 'the Go that is installed is too old';
    throw new Error(`${found}; install Go 1.26 or later (1.21 or later fetches it by itself)`);
  }
  mkdirSync(dirname(target), { recursive: true });
  removeLeftovers(dirname(target));
  const work = mkdtempSync(join(dirname(target), UNFINISHED));
  const cleanUp = (): void => rmSync(work, { recursive: true, force: true, maxRetries: 5 });
  const run: GoRun = (args, stdio) =>
    startOwned(go, args, { cwd: KUBERNETES_SOURCE, env: goEnvironment(env, work), stdio }, cleanUp);
  try {
    await download(run);
    await build(run, work);
    for (const name of ['kube-apiserver', 'kube-controller-manager']) symlinkSync('kubernetes', join(work, name));
    checkRuns(join(work, 'kube-apiserver'));
    putInPlace(work, target);
  } finally {
    cleanUp();
  }
}

/** Starts Go in the folder of the sources. */
type GoRun = (args: readonly string[], stdio: StdioOptions) => ChildProcess;

/** What set-ups have left that were killed; younger ones may be at work. */
function removeLeftovers(directory: string): void {
  for (const name of readdirSync(directory).filter((entry) => entry.startsWith(UNFINISHED))) {
    const path = join(directory, name);
    if (Date.now() - statSync(path).mtimeMs > 2 * BUILD_LIMIT_MS) rmSync(path, { recursive: true, force: true });
  }
}

/** Whether this Go is 1.21 or later: those get the version that a module asks for, unless GOTOOLCHAIN forbids it. */
function fetchesToolchains(go: string): boolean {
  const { stdout } = spawnSync(go, ['env', 'GOVERSION'], { encoding: 'utf8' });
  const minor = /^go1\.(\d+)/.exec(stdout)?.[1];
  return minor !== undefined && Number(minor) >= 21;
}

async function download(run: GoRun): Promise<void> {
  process.stderr.write(`setup: Go modules of Kubernetes ${KUBERNETES_VERSION} (about 250 MB, once) ...\n`);
  const child = run(['list', '-deps', './...'], ['ignore', 'ignore', 2]);
  await succeed(
    child,
    DOWNLOAD_LIMIT_MS,
    'its Go modules could not be had; check that Go is 1.26 or later and that this machine reaches its Go module proxy (GOPROXY)',
  );
}

async function build(run: GoRun, work: string): Promise<void> {
  const [major, minor] = KUBERNETES_VERSION.split('.');
  const flags = Object.entries({ gitVersion: `v${KUBERNETES_VERSION}`, gitMajor: major, gitMinor: minor });
  const ldflags = ['-s', '-w', ...flags.map(([name, value]) => `-X ${VERSION_PACKAGE}.${name}=${value}`)].join(' ');
  // -v names each package as it is compiled: that is the progress there is to show.
  const args = [
    'build',
    '-v',
    '-trimpath',
    '-buildvcs=false',
    '-p',
    '2',
    '-ldflags',
    ldflags,
    '-o',
    resolve(work, 'kubernetes'),
    '.',
  ];
  process.stderr.write(
    `setup: API server of Kubernetes ${KUBERNETES_VERSION} for the tests (go build, about 4 minutes, once) ...\n`,
  );
  const child = run(args, ['ignore', 2, 'pipe']);
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  const followed = showProgress(child);
  await succeed(child, BUILD_LIMIT_MS, 'go build failed; its message stands above');
  await followed;
}

/** Names of packages become a count; everything else that the build says is passed on. */
async function showProgress(child: ChildProcess): Promise<void> {
  if (child.stderr === null) return;
  const started = Date.now();
  let packages = 0;
  let told = started;
  for await (const line of createInterface({ input: child.stderr })) {
    if (!/^[\w./~-]+$/.test(line)) {
      process.stderr.write(`${line}\n`);
      continue;
    }
    packages += 1;
    if (Date.now() - told < PROGRESS_MS) continue;
    told = Date.now();
    process.stderr.write(`setup:   ${packages} packages compiled after ${Math.round((told - started) / 1000)} s ...\n`);
  }
}

function succeed(child: ChildProcess, limitMs: number, failure: string): Promise<void> {
  return new Promise((done, fail) => {
    const timer = setTimeout(() => {
      endGroup(child);
      fail(new Error(`the API server of Kubernetes ${KUBERNETES_VERSION}: no end after ${limitMs / MINUTE_MS} minutes`));
    }, limitMs);
    const failed = (reason: string): void => fail(new Error(`the API server of Kubernetes ${KUBERNETES_VERSION}: ${reason}`));
    child.on('error', (error) => failed(error.message));
    child.on('exit', (code) => {
      clearTimeout(timer);
      if (code === 0) done();
      else failed(failure);
    });
  });
}

function checkRuns(program: string): void {
  const { status, stdout, error } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  if (status !== 0 || !stdout.includes(KUBERNETES_VERSION))
    throw new Error(`the API server that was built does not run: ${error?.message ?? `exit ${status} ${stdout}`}`);
}

/** Another set-up may have been faster; its build is as good. */
function putInPlace(work: string, target: string): void {
  try {
    renameSync(work, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
  }
}
