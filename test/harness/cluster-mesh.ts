/** A mesh as users have it: a real cluster, whose one node is a lab, with the control plane in pods and everything done by commands. */
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Host } from '../../src/io/host.ts';
import { Lab } from '../../src/lab/client.ts';
import type { PolicyTool } from '../../src/lab/demo/lab-mesh.ts';
import { findPod, parseTarget } from '../../src/lab/pod-target.ts';
import { DEFAULT_DOMAIN, namesFor } from '../../src/lib/names.ts';
import type { TestCluster } from './cluster.ts';
import { LabUnderTest, type Result } from './lab-under-test.ts';

/** For all pods of a Deployment, on a machine that does other things too. */
const ROLLOUT = '--timeout=180s';
const UNTIL_MS = 120_000;
const POLL_MS = 100;

export const HOST: Host = {
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  cwd: process.cwd(),
  signal: new AbortController().signal,
  names: namesFor(DEFAULT_DOMAIN),
  now: () => new Date(),
};

export interface PodSummary {
  readonly name: string;
  readonly uid: string;
  /** Native sidecars first, then the others; none that ends before the application starts. */
  readonly containers: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
}

interface Container {
  readonly name: string;
  readonly restartPolicy?: string;
}

interface PodContainers {
  readonly initContainers?: readonly Container[];
  readonly containers: readonly Container[];
}

const isLasting = ({ restartPolicy }: Container): boolean => restartPolicy === 'Always';

export class ClusterMesh {
  readonly cluster: TestCluster;
  /** The node, as a user commands it. */
  readonly node: LabUnderTest;
  /** The same, for what the reference scenario needs. */
  readonly lab: Lab;

  private constructor(cluster: TestCluster, node: LabUnderTest) {
    this.cluster = cluster;
    this.node = node;
    this.lab = new Lab(node.dir, HOST);
  }

  /** A node that is up; nothing is installed. */
  static async withNode(cluster: TestCluster, ...flags: readonly string[]): Promise<ClusterMesh> {
    const mesh = new ClusterMesh(cluster, await LabUnderTest.create());
    await mesh.startNode(...flags);
    return mesh;
  }

  async startNode(...flags: readonly string[]): Promise<void> {
    const { kubeconfig, egressSocket } = this.cluster;
    succeeded(await this.node.run('up', '--orchconfig', kubeconfig, '--egress-socket', egressSocket, ...flags));
  }

  /** The real kubectl, as administrator. */
  kubectl(...args: readonly string[]): Promise<Result> {
    return run(this.cluster.kubectlPath, args, this.#env);
  }

  /** What kubectl prints; throws with its message when it fails. */
  async ask(...args: readonly string[]): Promise<string> {
    return succeeded(await this.kubectl(...args));
  }

  async apply(text: string): Promise<string> {
    return this.ask('apply', '-f', await this.node.file('applied.yaml', text));
  }

  meshctl(...args: readonly string[]): Promise<Result> {
    return this.node.mesh('meshctl', ...args, '--orchconfig', this.cluster.kubeconfig);
  }

  /** Brings in the printed manifests, as the README says, and waits until all of the control plane is available. */
  async install(...flags: readonly string[]): Promise<void> {
    const { code, stdout, stderr } = await this.node.mesh('meshctl', 'install', ...flags);
    if (code !== 0) throw new Error(stderr);
    await this.apply(stdout);
    await this.rolledOut('mesh-system');
  }

  /** Until every Deployment of a namespace has its pods, all ready. */
  async rolledOut(namespace: string): Promise<void> {
    const names = await this.ask('get', 'deployments', '-n', namespace, '-o', 'name');
    for (const name of names.trim().split('\n')) {
      const waited = await this.kubectl('rollout', 'status', '-n', namespace, name, ROLLOUT);
      if (waited.code !== 0)
        throw new Error(`${waited.stderr}\n${await this.ask('get', 'pods', '-A')}\n${(await this.node.run('status')).stdout}`);
    }
  }

  async pods(namespace: string): Promise<readonly PodSummary[]> {
    const { items } = JSON.parse(await this.ask('get', 'pods', '-n', namespace, '-o', 'json'));
    return items.map(({ metadata, spec }: { metadata: PodSummary; spec: PodContainers }) => ({
      name: metadata.name,
      uid: metadata.uid,
      annotations: metadata.annotations ?? {},
      containers: [...(spec.initContainers ?? []).filter(isLasting), ...spec.containers].map(({ name }) => name),
    }));
  }

  /** How often the containers of a workload of the control plane were started again. */
  async restarts(app: string): Promise<number> {
    const counts = await this.#ofPods(app, '{.items[*].status.containerStatuses[*].restartCount}');
    return counts.reduce((sum, count) => sum + Number(count), 0);
  }

  async isReady(app: string): Promise<boolean> {
    const ready = await this.#ofPods(app, '{.items[*].status.containerStatuses[*].ready}');
    return ready.length > 0 && ready.every((value) => value === 'true');
  }

  /** How many pods a workload of the control plane has; settles when they are there, or gone. */
  async scale(name: string, replicas: number): Promise<void> {
    await this.ask('scale', '-n', 'mesh-system', `deployment/${name}`, `--replicas=${replicas}`);
    await this.until(
      `${name} has ${replicas} pods`,
      async () => (await this.#ofPods(name, '{.items[*].metadata.name}')).length === replicas,
    );
    await this.rolledOut('mesh-system');
  }

  /** What becomes of pods that the injector is not there for. */
  async setFailurePolicy(policy: 'Fail' | 'Ignore'): Promise<void> {
    const patch = JSON.stringify([{ op: 'replace', path: '/webhooks/0/failurePolicy', value: policy }]);
    await this.ask('patch', 'mutatingwebhookconfiguration', 'mesh-sidecar-injector', '--type=json', '-p', patch);
  }

  /** Settles when it is so; throws what was waited for after as long as a busy machine may need. */
  async until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const deadline = Date.now() + UNTIL_MS;
    while (!(await isSo())) {
      if (Date.now() > deadline) throw new Error(`not within ${UNTIL_MS / 1_000} s: ${what}`);
      await sleep(POLL_MS);
    }
  }

  /** Kills the program of a workload's container without a warning. */
  async kill(workload: string, container: string): Promise<void> {
    const { run: pod } = findPod(this.lab.paths, parseTarget(workload, ''));
    const running = pod.containers[container];
    if (running === undefined) throw new Error(`${container} of ${workload} does not run`);
    const { code, stderr } = await this.lab.execOnNode(['kill', '-9', `${running.pid}`]);
    if (code !== 0) throw new Error(stderr);
  }

  /** Changes policies by kubectl and meshctl in turn. */
  policyTool(): PolicyTool {
    let changes = 0;
    const turn = (): boolean => changes++ % 2 === 0;
    return {
      apply: async (_, file) => {
        if (turn()) await this.#putByKubectl(file);
        else succeeded(await this.meshctl('apply', '-f', file));
      },
      delete: async ({ namespace = '', name }) => {
        if (turn()) await this.ask('delete', 'policy.authentication.mesh.io', name, '-n', namespace, '--ignore-not-found');
        else await this.meshctl('delete', 'policy', name, '-n', namespace);
      },
    };
  }

  async remove(): Promise<void> {
    await this.lab.close();
    await this.node.remove();
    this.cluster.stop();
  }

  async #ofPods(app: string, jsonpath: string): Promise<readonly string[]> {
    const text = await this.ask('get', 'pods', '-n', 'mesh-system', '-l', `app=${app}`, '-o', `jsonpath=${jsonpath}`);
    return text.split(' ').filter((word) => word !== '');
  }

  /** Not by `kubectl apply`, which leaves in place what it has not written itself. */
  async #putByKubectl(file: string): Promise<void> {
    const replaced = await this.kubectl('replace', '-f', file);
    if (replaced.code !== 0 && !replaced.stderr.includes('NotFound')) throw new Error(replaced.stderr);
    if (replaced.code !== 0) await this.ask('create', '-f', file);
  }

  get #env(): Readonly<Record<string, string | undefined>> {
    return { PATH: process.env['PATH'], HOME: this.cluster.directory, KUBECONFIG: this.cluster.kubeconfig };
  }
}

function run(program: string, args: readonly string[], env: Readonly<Record<string, string | undefined>>): Promise<Result> {
  return new Promise((resolve) => {
    execFile(program, args, { maxBuffer: 1 << 24, env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
  });
}

function succeeded({ code, stdout, stderr }: Result): string {
  if (code !== 0) throw new Error(`exit code ${code}: ${stderr || stdout}`);
  return stdout;
}
