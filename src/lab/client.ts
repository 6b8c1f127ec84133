import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Host } from '../io/host.ts';
import { type Duration, formatDuration } from '../lib/duration.ts';
import { envoyPath } from '../lib/envoy-path.ts';
import { formatProblem, MeshError } from '../lib/errors.ts';
import { reviewRuleManifests } from '../meshctl/rule-review.ts';
import { kindsFor } from '../model/kinds.ts';
import { describeObject } from '../model/object.ts';
import type { KindedObject } from '../model/parse/object.ts';
import { allKinds } from '../rules/config/kinds.ts';
import { type OpenedStore, openStore } from '../sources/store/open.ts';
import { applyObject, requireNamespaces } from './apply.ts';
import { podView } from './controllers/pod-view.ts';
import { type ExecTarget, execCaptured, execOnNode, execStarted } from './exec.ts';
import { launchLab } from './launch.ts';
import { inOrderOfUse } from './manifests.ts';
import { meshInstallation } from './mesh-command.ts';
import { NeverReady } from './never-ready.ts';
import { endUplink } from './node/end-uplink.ts';
import { leaveCluster } from './node/leave.ts';
import type { NodeSettings } from './node/settings.ts';
import { controlPlaneLog, type LabPaths, labPaths } from './paths.ts';
import { blockers } from './pod-readiness.ts';
import { checkLaunch } from './preconditions.ts';
import { isRunning } from './process-identity.ts';
import type { CommandOptions, CommandResult } from './run-command.ts';
import { type LabHealth, lastLab, readHealth, requireLab, runningLab } from './run-state.ts';
import { withStartLock } from './start-lock.ts';
import { IMAGES_CONFIG_MAP, ROOT_NAMESPACE } from './system-objects.ts';
import { findTools, type Tools } from './tools.ts';

/** Gets a line for people whenever something worth telling has happened. */
export type Progress = (line: string) => void;

export interface UpOptions {
  /** Wait until the control plane serves. */
  readonly wait: boolean;
  readonly timeout: Duration;
  /** What makes the lab a node of a real cluster; undefined: it is a cluster of its own. */
  readonly node?: NodeSettings | undefined;
}

const POLL_MS = 20;
const LOG_TAIL_LINES = 5;

/** One lab, from outside: what `mesh lab` and the demo do with it. */
export class Lab {
  readonly paths: LabPaths;
  readonly #host: Host;
  readonly #tools: Tools;
  #store: OpenedStore | undefined;

  constructor(dir: string, host: Host) {
    this.paths = labPaths(dir);
    this.#host = host;
    this.#tools = findTools(host.env['PATH']);
  }

  get tools(): Tools {
    return this.#tools;
  }

  get isRunning(): boolean {
    return runningLab(this.paths) !== undefined;
  }

  /** The lab's objects; only while the state directory exists. */
  get store(): OpenedStore {
    const cluster = runningLab(this.paths)?.cluster;
    this.#store ??= openStore(cluster?.kubeconfig ?? this.paths.store, {
      flag: cluster === undefined ? '--dir' : '--orchconfig',
      kinds: allKinds(this.#host.names),
      env: this.#host.env,
      cwd: this.#host.cwd,
      now: this.#host.now,
      newUid: randomUUID,
    });
    return this.#store;
  }

  /**
   * Starts the lab unless it runs; gives whether it had to. Throws `failed_precondition` when the machine lacks something,
   * `deadline_exceeded` when the control plane is not ready in time, each saying what to do.
   */
  async up({ wait, timeout, node }: UpOptions, progress: Progress): Promise<boolean> {
    const started = await withStartLock(this.paths, async () => {
      if (this.isRunning) return false;
      const envoy = envoyPath(this.#host.env);
      const rootless = checkLaunch({ envoy, tools: this.#tools });
      progress(`starting a lab in ${this.paths.dir}`);
      const installation = meshInstallation(fileURLToPath(import.meta.url), process.execPath);
      await launchLab({ paths: this.paths, installation, envoy, rootless, env: this.#host.env, tools: this.#tools, node });
      return true;
    });
    if (wait) await this.#waitForControlPlane(timeout, progress);
    return started;
  }

  /** Ends the lab and every process in it; gives whether one ran. `purge` removes its state directory too. */
  async down(purge: boolean, progress: Progress = () => {}): Promise<boolean> {
    await this.close();
    const state = runningLab(this.paths);
    if (state !== undefined) {
      process.kill(state.init.pid, 'SIGKILL');
      while (isRunning(state.init)) await delay(POLL_MS);
    }
    // One that was killed is still written down there.
    const cluster = lastLab(this.paths)?.cluster;
    await endUplink(cluster);
    if (cluster !== undefined) await leaveCluster(cluster, this.#host, progress);
    rmSync(this.paths.run, { recursive: true, force: true });
    if (purge) rmSync(this.paths.dir, { recursive: true, force: true });
    return state !== undefined;
  }

  /**
   * Applies objects in the order in which they need each other. Throws `not_found` for a namespace that does not exist, `invalid` for
   * configuration of mixs that is wrong.
   */
  async apply(objects: readonly KindedObject[], progress: Progress): Promise<void> {
    const { cluster } = requireLab(this.paths);
    if (cluster !== undefined) {
      const { node, kubeconfig } = cluster;
      throw new MeshError(
        'failed_precondition',
        `this lab is node ${node} of a cluster; apply there: kubectl --kubeconfig ${kubeconfig} apply`,
      );
    }
    await requireNamespaces(this.store, objects, kindsFor(this.#host.names).namespace);
    const rules = await reviewRuleManifests(objects, this.store, this.#host.names);
    if (rules.refused.length > 0) throw new MeshError('invalid', rules.refused.map(formatProblem).join('\n'));
    for (const message of rules.warnings) progress(`warning: ${message}`);
    for (const object of inOrderOfUse(objects)) {
      const done = await applyObject(this.store, object, this.#host.names);
      progress(`${describeObject(object.object)} ${done}`);
    }
  }

  /** Adds to what images stand for. */
  async mapImages(mappings: readonly (readonly [name: string, command: string])[]): Promise<void> {
    if (mappings.length === 0) return;
    const kind = kindsFor(this.#host.names).configMap;
    const metadata = { name: IMAGES_CONFIG_MAP, namespace: ROOT_NAMESPACE };
    const existing = (await this.store.list(kind, ROOT_NAMESPACE)).find(({ metadata: { name } }) => name === IMAGES_CONFIG_MAP);
    const data = { ...(existing?.['data'] as Record<string, string> | undefined), ...Object.fromEntries(mappings) };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
    await (existing === undefined ? this.store.create(object) : this.store.replace(object));
  }

  /**
   * Waits until every deployment has its pods and every pod is ready. Throws `deadline_exceeded` that says what each waits for,
   * `failed_precondition` as soon as one can never be ready.
   */
  async waitReady(timeout: Duration, progress: Progress): Promise<void> {
    const kinds = kindsFor(this.#host.names);
    const deadline = Date.now() + timeout;
    const neverReady = new NeverReady();
    let told = '';
    for (;;) {
      requireLab(this.paths);
      const [deployments, pods] = await Promise.all([this.store.list(kinds.deployment), this.store.list(kinds.pod)]);
      const waiting = blockers(deployments, pods.map(podView));
      const total = pods.length;
      const line = `pods ready: ${pods.map(podView).filter(({ ready }) => ready).length} of ${total}`;
      if (line !== told && total > 0) progress(line);
      told = line;
      if (waiting.length === 0) return;
      const never = neverReady.among(deployments, pods.map(podView), Date.now());
      if (never.length > 0) throw new MeshError('failed_precondition', `not ready, and never will be: ${never.join('; ')}`);
      if (Date.now() > deadline) {
        throw new MeshError('deadline_exceeded', `not ready after ${formatDuration(timeout)}: ${waiting.join('; ')}`);
      }
      await delay(POLL_MS * 2, undefined, { signal: this.#host.signal });
    }
  }

  /** Runs a command in a container and gives what it printed; the exit code is the command's. */
  exec(
    target: string,
    command: readonly string[],
    options: Partial<Omit<ExecTarget, 'target'>> & Omit<CommandOptions, 'env'> = {},
  ): Promise<CommandResult> {
    const { namespace = '', container = '', ...rest } = options;
    return execCaptured(this.paths, { target, namespace, container }, command, this.#tools, rest);
  }

  /** Starts a command in a container, with pipes for its standard streams. */
  start(target: string, command: readonly string[]): ChildProcess {
    return execStarted(this.paths, { target, namespace: '', container: '' }, command, this.#tools);
  }

  /** Runs a command in the node's network, where the control plane listens on 10.244.0.1. */
  execOnNode(command: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    return execOnNode(this.paths, command, this.#tools, options);
  }

  health(): LabHealth | undefined {
    return readHealth(this.paths);
  }

  async close(): Promise<void> {
    await this.#store?.close();
    this.#store = undefined;
  }

  async #waitForControlPlane(timeout: Duration, progress: Progress): Promise<void> {
    const deadline = Date.now() + timeout;
    const told = new Set<string>();
    for (;;) {
      if (!this.isRunning)
        throw new MeshError('unavailable', `the lab ended while it started:\n${tail(`${this.paths.logs}/lab.log`)}`);
      const health = this.health();
      for (const { name, ready } of health?.components ?? []) {
        if (ready && !told.has(name)) progress(`${name} ready`);
        if (ready) told.add(name);
      }
      if (health?.serving && health.components.every(({ ready }) => ready)) return;
      if (Date.now() > deadline) throw this.#notReady(health, timeout);
      await delay(POLL_MS, undefined, { signal: this.#host.signal });
    }
  }

  #notReady(health: LabHealth | undefined, timeout: Duration): MeshError {
    const lines = (health?.components ?? [])
      .filter(({ ready }) => !ready)
      .map(({ name, message }) => `${name}: ${message}\n${tail(controlPlaneLog(this.paths, name))}`);
    const reasons = lines.length > 0 ? lines : [tail(`${this.paths.logs}/lab.log`)];
    return new MeshError(
      'deadline_exceeded',
      `the control plane is not ready after ${formatDuration(timeout)}:\n${reasons.join('\n')}`,
    );
  }
}

function tail(path: string): string {
  try {
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    return lines
      .slice(-LOG_TAIL_LINES)
      .map((line) => `  ${line}`)
      .join('\n');
  } catch {
    return `  (${path} is empty)`;
  }
}
