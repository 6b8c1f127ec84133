/** Zipkin's server, which the tests of spans run: one jar, in the user's cache. It is needed where there is Java; elsewhere its tests are skipped. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { ZIPKIN_VERSION, zipkinJar } from '../src/lab/kept-programs.ts';
import { ensureJar, type MavenJar } from './maven-jar.ts';

const ZIPKIN: MavenJar = {
  group: 'io.zipkin',
  artifact: 'zipkin-server',
  version: ZIPKIN_VERSION,
  classifier: 'exec',
  sha256: '45530b0d895d7b56fffa5f6385f4bd45a6b8aa3c57e1c2bda4b4bb1225881333',
};
const OLDEST_JAVA = 17;

export type FoundZipkin = { readonly jar: string } | { readonly missing: 'java' | 'jar' };

export function findZipkin(env: NodeJS.ProcessEnv): FoundZipkin {
  if (!hasJava()) return { missing: 'java' };
  const jar = zipkinJar(env);
  return existsSync(jar) ? { jar } : { missing: 'jar' };
}

/** Before a test run: a machine without Java runs the other tests; in CI with Java nothing is skipped. */
export function ensureZipkinForTests(env: NodeJS.ProcessEnv): void {
  if (!hasJava()) {
    process.stderr.write(`setup: there is no Java ${OLDEST_JAVA}, so the tests with a real Zipkin will be skipped\n`);
    return;
  }
  try {
    ensureJar(ZIPKIN, zipkinJar(env));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if ((env['CI'] ?? '') !== '') throw new Error(`Zipkin cannot be had: ${reason}`);
    process.stderr.write(`setup: ${reason}\nsetup: the tests with a real Zipkin will be skipped\n`);
  }
}

function hasJava(): boolean {
  const { status, stderr } = spawnSync('java', ['-version'], { encoding: 'utf8' });
  return status === 0 && Number(/version "(\d+)/.exec(stderr)?.[1] ?? 0) >= OLDEST_JAVA;
}
