import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { type Duration, seconds } from '../../lib/duration.ts';
import { formatProblem, MeshError } from '../../lib/errors.ts';
import { abortable } from './abortable.ts';
import { writeProjectedVolume } from './projected-volume.ts';
import { fieldOf, memoryPaths, type RunningPod } from './running-pod.ts';
import type { NodeRuntime } from './runtime.ts';
import { type VolumeContent, volumeContent } from './volume-files.ts';

/** What comes by calls rather than from what is followed, such as tokens, is tried again without a change. */
const RETRY: Duration = seconds(2);

type Written =
  | { readonly ok: true; readonly renewAfter: Duration | undefined }
  | { readonly ok: false; readonly message: string };

/** The volumes of one pod, in the lab's memory file system, kept as their sources are. */
export class PodVolumes {
  readonly #pod: RunningPod;
  readonly #runtime: NodeRuntime;
  /** Hash of what was written last, by volume. */
  readonly #hashes = new Map<string, string>();
  #changed = Promise.withResolvers<void>();

  constructor(pod: RunningPod, runtime: NodeRuntime) {
    this.#pod = pod;
    this.#runtime = runtime;
  }

  /** To be called when a ConfigMap or Secret of the pod's namespace has changed. */
  refresh(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /**
   * Fills the volumes, waiting for what they need (`onBlocked` says for what), then keeps them current until the signal is
   * aborted. What is gone later keeps its last content, as with the kubelet.
   */
  async mount(signal: AbortSignal, onBlocked: (message: string) => void): Promise<void> {
    for (const { name } of this.#pod.spec.volumes) {
      mkdirSync(this.#directory(name), { recursive: true });
      // Any user of the pod may write to an empty volume.
      chmodSync(this.#directory(name), 0o777);
    }
    for (;;) {
      const changed = this.#changed.promise;
      const written = await this.#write().catch(notWritten);
      if (written.ok) {
        this.#keep(written.renewAfter, signal).catch((error: unknown) => {
          if (!signal.aborted)
            this.#runtime.logger.error('volumes of a pod are not kept current', { pod: this.#pod.name, error: String(error) });
        });
        return;
      }
      onBlocked(written.message);
      await this.#waitFor(changed, RETRY, signal);
    }
  }

  remove(): void {
    rmSync(`${this.#runtime.paths.memory}/${memoryPaths.volumes(this.#pod.uid)}`, { recursive: true, force: true });
  }

  async #keep(first: Duration | undefined, signal: AbortSignal): Promise<void> {
    let renewAfter = first;
    for (;;) {
      await this.#waitFor(this.#changed.promise, renewAfter, signal);
      const written = await this.#write().catch(notWritten);
      // A token that could not be renewed must be before it ends.
      renewAfter = written.ok ? written.renewAfter : RETRY;
    }
  }

  /** Until something changes, at most so long. */
  async #waitFor(changed: Promise<void>, limit: Duration | undefined, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const due = limit === undefined ? [] : [this.#runtime.sleep(limit, AbortSignal.any([signal, over.signal])).catch(() => {})];
    try {
      await abortable(Promise.race([changed, ...due]), signal);
    } finally {
      over.abort();
    }
  }

  async #write(): Promise<Written> {
    let renewAfter: Duration | undefined;
    for (const { name, source } of this.#pod.spec.volumes) {
      if (source.type !== 'projected') continue;
      const content = await volumeContent(source.parts, this.#sources());
      if (!content.ok) return { ok: false, message: `volume "${name}": ${content.problems.map(formatProblem).join('; ')}` };
      this.#writeOne(name, content.value, source.mode);
      const due = content.value.renewAfter;
      if (due !== undefined) renewAfter = renewAfter === undefined || due < renewAfter ? due : renewAfter;
    }
    return { ok: true, renewAfter };
  }

  #writeOne(volume: string, { files }: VolumeContent, mode: number): void {
    const hash = hashOf(files);
    if (this.#hashes.get(volume) === hash) return;
    // In a user namespace there is no other group, and every process is user 0.
    const group = this.#runtime.rootless ? undefined : this.#pod.spec.fsGroup;
    writeProjectedVolume(this.#directory(volume), files, { mode, group }, hash.slice(0, 16));
    this.#hashes.set(volume, hash);
  }

  #sources() {
    const { namespace, name, uid, spec } = this.#pod;
    return {
      keys: (kind: 'configMap' | 'secret', object: string) => this.#runtime.keys(namespace, kind, object),
      field: fieldOf(this.#pod),
      token: (audience: string, lifetime: Duration) =>
        this.#runtime.token({ namespace, pod: { name, uid } }, spec.serviceAccountName, audience, lifetime),
    };
  }

  #directory(volume: string): string {
    return `${this.#runtime.paths.memory}/${memoryPaths.volume(this.#pod.uid, volume)}`;
  }
}

function notWritten(error: unknown): Written {
  return { ok: false, message: MeshError.from(error).message };
}

function hashOf(files: ReadonlyMap<string, Uint8Array>): string {
  const hash = createHash('sha256');
  for (const [path, content] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(`${path}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}
