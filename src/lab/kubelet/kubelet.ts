import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Duration, seconds } from '../../lib/duration.ts';
import { MeshError } from '../../lib/errors.ts';
import type { KubeObject } from '../../model/object.ts';
import { podView } from '../controllers/pod-view.ts';
import { AddressPool, POD_RANGE } from '../network/addresses.ts';
import { hostsText, type NamedAddress } from '../network/hosts.ts';
import { podRunFile } from '../paths.ts';
import { Fields } from './fields.ts';
import { PodRunner } from './pod-runner.ts';
import { isBeingDeleted, type PodSource } from './pod-source.ts';
import { isPodReady, type PodCondition, podStatus } from './pod-status.ts';
import { memoryPaths } from './running-pod.ts';
import type { NodeRuntime } from './runtime.ts';
import { writeInPlace } from './write-in-place.ts';

/** A pod that this kubelet runs. */
interface Entry {
  readonly pod: KubeObject;
  readonly address: string;
  readonly runner: PodRunner;
  readonly stop: AbortController;
  readonly conditions: Map<string, { readonly status: string; readonly since: string }>;
  /** How long the containers may take to end, where the one who deletes the pod has said so. */
  grace: Duration | undefined;
  /** Nothing of it runs any more. */
  ended: boolean;
  written: string;
}

export interface KubeletOptions {
  readonly pods: PodSource;
  readonly runtime: NodeRuntime;
  /** Runs after a change of some pod's record; its reconciler calls report() then. */
  readonly onChange: () => void;
  /** Runs when nothing of a pod runs any more; its reconciler calls reconcile() then. */
  readonly onEnded: () => void;
}

/** Runs the admitted pods of the cluster, and reports how they are doing. */
export class Kubelet {
  readonly #pods: PodSource;
  readonly #runtime: NodeRuntime;
  readonly #pool = new AddressPool(POD_RANGE);
  /** By uid. */
  readonly #entries = new Map<string, Entry>();
  readonly #onChange: () => void;
  readonly #onEnded: () => void;
  #names: readonly NamedAddress[] = [];
  #links = 0;

  constructor({ pods, runtime, onChange, onEnded }: KubeletOptions) {
    this.#pods = pods;
    this.#runtime = runtime;
    this.#onChange = onChange;
    this.#onEnded = onEnded;
  }

  /** Starts pods that are new, stops those that are gone or shall go, and gives up those that have gone. */
  async reconcile(): Promise<void> {
    const wanted = new Map(this.#pods.list().map((pod) => [pod.metadata.uid ?? '', pod]));
    for (const [uid, entry] of this.#entries) if (!wanted.has(uid)) this.#stop(uid, entry);
    const over: KubeObject[] = [];
    for (const [uid, pod] of wanted) {
      const entry = this.#entries.get(uid);
      if (isBeingDeleted(pod)) {
        if (entry !== undefined) this.#stop(uid, entry, gracePeriodOf(pod));
        if (!this.#entries.has(uid)) over.push(pod);
      } else if (entry === undefined && isToRun(pod)) this.#start(uid, pod);
    }
    await Promise.all(over.map((pod) => this.#pods.release(pod)));
  }

  /** To be called when a ConfigMap or Secret has changed. */
  refreshVolumes(): void {
    for (const { runner } of this.#entries.values()) runner.refreshVolumes();
  }

  /** Sets what names the pods resolve. */
  setNames(names: readonly NamedAddress[]): void {
    this.#names = names;
    for (const [uid, entry] of this.#entries) this.#writeHosts(uid, entry.pod, entry.address);
  }

  /** Writes the status of every pod that has changed. */
  async report(): Promise<void> {
    await Promise.all([...this.#entries].map(([uid, entry]) => this.#reportOne(uid, entry)));
  }

  #stop(uid: string, entry: Entry, grace?: Duration): void {
    entry.grace = grace;
    entry.stop.abort();
    if (entry.ended) this.#entries.delete(uid);
  }

  #start(uid: string, pod: KubeObject): void {
    const { namespace = 'default', name } = pod.metadata;
    const address = this.#pool.allocate(podView(pod).podIp);
    const stop = new AbortController();
    const runner = new PodRunner(
      {
        pod,
        address,
        link: `pod${++this.#links}`,
        restarts: restartsOf(pod),
        writeHosts: () => this.#writeHosts(uid, pod, address),
        gracePeriod: () => this.#entries.get(uid)?.grace,
        onChange: () => {
          this.#writeRunFile(namespace, name, runner);
          this.#onChange();
        },
      },
      this.#runtime,
    );
    this.#entries.set(uid, { pod, address, runner, stop, conditions: new Map(), grace: undefined, ended: false, written: '' });
    runner
      .run(stop.signal)
      .catch((error: unknown) => {
        this.#runtime.logger.error('a pod failed', { pod: `${namespace}/${name}`, error: MeshError.from(error).message });
      })
      .finally(() => this.#ended(uid, namespace, name, address));
  }

  #ended(uid: string, namespace: string, name: string, address: string): void {
    const entry = this.#entries.get(uid);
    rmSync(podRunFile(this.#runtime.paths, namespace, name), { force: true });
    this.#pool.release(address);
    if (entry !== undefined) entry.ended = true;
    // One that ended by itself stays, so that its last status is reported.
    if (entry?.stop.signal.aborted) this.#entries.delete(uid);
    this.#onChange();
    this.#onEnded();
  }

  async #reportOne(uid: string, entry: Entry): Promise<void> {
    const { runner } = entry;
    const current = this.#pods.list().find(({ metadata }) => metadata.uid === uid);
    if (current === undefined) {
      if (runner.record.outcome !== undefined) this.#entries.delete(uid);
      return;
    }
    const status = podStatus(runner.record, (condition) => sinceOf(entry, condition, this.#runtime.now()));
    const text = JSON.stringify(status);
    // Somebody else may have written over it: a node that was not heard of for a while has all its pods declared unready.
    if (text === entry.written && podView(current).ready === isPodReady(runner.record)) return;
    await this.#pods.report(current, status);
    entry.written = text;
  }

  #writeHosts(uid: string, pod: KubeObject, podIp: string): void {
    const { name, namespace = 'default' } = pod.metadata;
    const { paths, domain } = this.#runtime;
    writeInPlace(
      `${paths.memory}/${memoryPaths.hosts(uid)}`,
      hostsText({ namespace, podName: name, podIp, services: this.#names, domain }),
    );
  }

  /** What `lab exec` joins a container by. The environment may hold secrets. */
  #writeRunFile(namespace: string, name: string, runner: PodRunner): void {
    const file = podRunFile(this.#runtime.paths, namespace, name);
    const { defaultContainer } = runner;
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(`${file}.new`, JSON.stringify({ defaultContainer, containers: Object.fromEntries(runner.joinable) }), {
      mode: 0o600,
    });
    renameSync(`${file}.new`, file);
  }
}

function sinceOf({ conditions }: Entry, { type, status }: PodCondition, now: Date): string {
  const known = conditions.get(type);
  if (known?.status === status) return known.since;
  const since = now.toISOString();
  conditions.set(type, { status, since });
  return since;
}

/** Started again with the lab, so each container counts once more, as after a restart of a node. */
function restartsOf(pod: KubeObject): ReadonlyMap<string, number> {
  const status = new Fields(pod['status'], 'status', []);
  const all = [...status.list('initContainerStatuses'), ...status.list('containerStatuses')];
  return new Map(all.map((container) => [container.string('name') ?? '', (container.integer('restartCount') ?? 0) + 1]));
}

function isToRun(pod: KubeObject): boolean {
  const { phase } = podView(pod);
  return phase !== undefined && phase !== 'Succeeded' && phase !== 'Failed';
}

/** What the one who deleted it granted. */
function gracePeriodOf({ metadata }: KubeObject): Duration | undefined {
  const granted = new Fields(metadata, 'metadata', []).integer('deletionGracePeriodSeconds');
  return granted === undefined ? undefined : seconds(granted);
}
