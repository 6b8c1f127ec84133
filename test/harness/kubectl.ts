/** The real kubectl beside what runs in this process: a webhook must be able to answer while it waits. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { findClusterPrograms } from '../../setup/cluster/programs.ts';
import type { TestCluster } from './cluster.ts';

export interface KubectlResult {
  readonly code: number;
  readonly out: string;
  /** Warnings of the API server included. */
  readonly err: string;
}

/** Runs kubectl as administrator. */
export async function runKubectl(cluster: TestCluster, args: readonly string[], input = ''): Promise<KubectlResult> {
  const programs = findClusterPrograms(process.env);
  if (programs === undefined) throw new Error('the programs of the test cluster went away');
  const env = { PATH: process.env['PATH'], HOME: cluster.directory, KUBECONFIG: cluster.kubeconfig };
  const kubectl = spawn(programs.kubectl, args, { env, timeout: 100_000 });
  kubectl.stdin.end(input);
  const exit = new Promise<number>((resolve, reject) => {
    kubectl.on('error', reject);
    kubectl.on('close', (code) => resolve(code ?? -1));
  });
  const [out, err, code] = await Promise.all([text(kubectl.stdout), text(kubectl.stderr), exit]);
  return { code, out, err };
}
