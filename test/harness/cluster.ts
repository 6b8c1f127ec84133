/** One real API server for all spec files of a run: started by the first that asks, ended with the process. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cluster, startCluster } from '../../setup/cluster/cluster.ts';
import { type ClusterPrograms, findClusterPrograms } from '../../setup/cluster/programs.ts';
import type { KubernetesClient } from '../../src/io/kubernetes/client.ts';
import { openKubeconfig } from '../../src/io/kubernetes/open-client.ts';
import { skipOutsideCi } from './skip-outside-ci.ts';

const PREFIX = 'mesh-test-cluster-';
/** Enough for a machine that does other things too. */
const START_LIMIT_MS = 120_000;

export interface TestCluster extends Cluster {
  /** Runs the real kubectl as administrator; gives what it prints. Throws with its message when it fails. */
  kubectl(args: readonly string[], input?: string): string;
  readonly kubectlPath: string;
  /** As administrator. */
  readonly client: KubernetesClient;
}

let shared: Promise<TestCluster> | undefined;

/**
 * For a `before` hook: the cluster, or a skipped suite where the set-up could not get its programs and has said so. In CI nothing
 * is skipped.
 */
export async function requireCluster(context: Mocha.Context): Promise<TestCluster> {
  shared ??= start(requirePrograms(context));
  return shared;
}

function requirePrograms(context: Mocha.Context): ClusterPrograms {
  const programs = findClusterPrograms(process.env);
  if (programs === undefined) skipOutsideCi(context, 'the programs of the test cluster are missing; run npm run setup');
  context.timeout(START_LIMIT_MS);
  return programs;
}

/** A cluster that a test may break, or skips as above; the test ends it. */
export async function ownCluster(context: Mocha.Context): Promise<TestCluster> {
  return start(requirePrograms(context));
}

async function start(programs: ClusterPrograms): Promise<TestCluster> {
  removeLeftovers();
  const directory = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
  const cluster = await startCluster({ programs, directory, lifetime: 'with-parent' });
  process.once('exit', () => cluster.stop());
  const client = openKubeconfig(cluster.kubeconfig, { flag: '--orchconfig', env: {}, now: () => new Date() });
  return Object.assign(cluster, {
    client,
    kubectlPath: programs.kubectl,
    kubectl: (args: readonly string[], input?: string): string => runKubectl(programs.kubectl, cluster, args, input),
  });
}

function runKubectl(program: string, cluster: Cluster, args: readonly string[], input: string | undefined): string {
  const env = { PATH: process.env['PATH'], HOME: cluster.directory, KUBECONFIG: cluster.kubeconfig };
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', env, timeout: 100_000, input });
  if (status === 0) return stdout;
  throw new Error(`kubectl ${args.join(' ')} failed: ${error?.message ?? stderr}`);
}

/** Directories of runs that were killed; their processes went with them. */
function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = name.startsWith(PREFIX) ? name.slice(PREFIX.length).split('-')[0] : undefined;
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join(tmpdir(), name), { recursive: true, force: true });
  }
}
