/** `npm run cluster:up` and `npm run cluster:down`, with the name of a cluster where one is not enough. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isRunning, type ProcessIdentity } from '../../src/lab/process-identity.ts';
import { EGRESS_SOCKET } from './arguments.ts';
import { type Cluster, startCluster, stateFile } from './cluster.ts';
import { ensureClusterPrograms } from './ensure.ts';
import { kill } from './processes.ts';
import { findClusterPrograms, kubectlPath } from './programs.ts';

/** What is written down about a running cluster. */
interface ClusterState {
  readonly kubeconfig: string;
  readonly ready: boolean;
  readonly processes: readonly ProcessIdentity[];
}

/** Starts a cluster, unless it runs; the last line on stdout is the path of its kubeconfig. */
export async function clusterUp(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const directory = clusterDirectory(args, env);
  const known = readState(directory);
  if (known?.ready && known.processes.every(isRunning)) return tell(known.kubeconfig, directory, env);
  takeDown(directory);
  await ensureClusterPrograms(env);
  const programs = findClusterPrograms(env);
  if (programs === undefined) throw new Error('the programs of the test cluster are not there although they were installed');
  process.stderr.write('setup: test cluster ...');
  const started = Date.now();
  // What was started is known from then on, so that a start that is broken off can be taken down.
  const write = (cluster: Cluster, ready: boolean): void => {
    const state: ClusterState = { kubeconfig: cluster.kubeconfig, ready, processes: cluster.processes() };
    writeFileSync(stateFile(directory), JSON.stringify(state), { mode: 0o600 });
  };
  const onStart = (cluster: Cluster): void => write(cluster, false);
  const cluster = await startCluster({ programs, directory, lifetime: 'detached', onStart });
  write(cluster, true);
  process.stderr.write(` ready (${((Date.now() - started) / 1000).toFixed(1)} s)\n`);
  return tell(cluster.kubeconfig, directory, env);
}

/** Ends a cluster and removes all that there is of it. */
export function clusterDown(args: readonly string[], env: NodeJS.ProcessEnv): number {
  takeDown(clusterDirectory(args, env));
  return 0;
}

function tell(kubeconfig: string, directory: string, env: NodeJS.ProcessEnv): number {
  const node = `bin/mesh lab up --orchconfig ${kubeconfig} --egress-socket ${join(directory, EGRESS_SOCKET)}`;
  const lines = [`kubectl for it: ${kubectlPath(env)} --kubeconfig ${kubeconfig}`, `a node for it: ${node}`, kubeconfig];
  process.stdout.write(`${lines.join('\n')}\n`);
  return 0;
}

function takeDown(directory: string): void {
  kill(readState(directory)?.processes ?? []);
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
}

function clusterDirectory([name = 'default']: readonly string[], env: NodeJS.ProcessEnv): string {
  if (!/^[a-z0-9-]{1,40}$/.test(name)) throw new Error(`"${name}" is no name for a cluster: use a-z, 0-9 and -`);
  const state = env['XDG_STATE_HOME'] || join(env['HOME'] ?? '/root', '.local/state');
  return join(state, 'mesh/clusters', name);
}

function readState(directory: string): ClusterState | undefined {
  const file = stateFile(directory);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ClusterState) : undefined;
}
