import { ensureEtcd } from './etcd.ts';
import { ensureKubectl } from './kubectl.ts';
import { ensureKubernetes } from './kubernetes.ts';
import { findClusterPrograms } from './programs.ts';

/** Gets every program of a test cluster; throws with what to do when one cannot be had. */
export async function ensureClusterPrograms(env: NodeJS.ProcessEnv): Promise<void> {
  if (findClusterPrograms(env) !== undefined) return;
  ensureEtcd(env);
  ensureKubectl(env);
  await ensureKubernetes(env);
}

/** The same before a test run: a machine that cannot have them runs the other tests, except in CI, where nothing is skipped. */
export async function ensureClusterForTests(env: NodeJS.ProcessEnv): Promise<void> {
  try {
    await ensureClusterPrograms(env);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if ((env['CI'] ?? '') !== '') throw new Error(`the test cluster cannot be had: ${reason}`);
    process.stderr.write(`setup: ${reason}\nsetup: the tests on a real API server will be skipped\n`);
  }
}
