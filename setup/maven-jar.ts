/** Programs in jars of Maven repositories, of pinned content, fetched with the user's own Maven so that mirrors and proxies hold. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy';

export interface MavenJar {
  readonly group: string;
  readonly artifact: string;
  readonly version: string;
  readonly classifier: string;
  /** SHA-256 in hexadecimal digits. */
  readonly sha256: string;
}

/** Puts a jar in its place unless it is there; throws with what to do when it cannot be had. */
export function ensureJar(jar: MavenJar, target: string): void {
  if (existsSync(target)) return;
  const { group, artifact, version, classifier, sha256 } = jar;
  process.stderr.write(`setup: ${artifact} ${version} (${group}) ...\n`);
  mkdirSync(dirname(target), { recursive: true });
  const work = mkdtempSync(join(dirname(target), '.download-'));
  try {
    const coordinates = `-Dartifact=${group}:${artifact}:${version}:jar:${classifier}`;
    // A repository of its own keeps the jar from being stored twice.
    const args = ['-B', '-q', `-Dmaven.repo.local=${join(work, 'repository')}`, COPY, coordinates, `-DoutputDirectory=${work}`];
    const { status, error } = spawnSync('mvn', args, { stdio: ['ignore', 2, 2], cwd: work });
    if (status !== 0)
      throw new Error(`mvn could not get ${artifact} (${error?.message ?? `exit ${status}`}); install Maven and Java 17`);
    const found = readdirSync(work).find((file) => file.endsWith('.jar'));
    if (found === undefined) throw new Error(`mvn copied nothing for ${artifact}`);
    const hash = createHash('sha256')
      .update(readFileSync(join(work, found)))
      .digest('hex');
    if (hash !== sha256) throw new Error(`${artifact} ${version} is not what was pinned: its SHA-256 is ${hash}`);
    renameSync(join(work, found), target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
