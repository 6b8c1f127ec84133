/** One remote cluster, followed with whatever kubeconfig is in force. */
import type { Logger } from '../../io/log/logger.ts';
import { formatProblem, MeshError, type Problem } from '../../lib/errors.ts';
import type { Redacted } from '../../lib/redacted.ts';
import type { RemoteCluster } from '../../model/remote-cluster.ts';
import type { OpenedStore } from '../store/open.ts';
import type { Kubeconfig } from './kubeconfig-secrets.ts';
import type { Registry } from './kubernetes.ts';

/** `lost`: what was known last stays in force. `waiting`: nothing has been read yet. */
export type RemoteState = 'followed' | 'lost' | 'waiting';

export interface RemoteClusterDeps {
  readonly name: string;
  /** Opens the store of a kubeconfig. Throws MeshError for one that cannot be used. */
  readonly open: (kubeconfig: string, onProblem: () => void) => OpenedStore;
  readonly follow: (store: OpenedStore, signal: AbortSignal) => Registry;
  readonly onChange: () => void;
  readonly logger: Logger;
}

interface Connection {
  readonly kubeconfig: string;
  readonly store: OpenedStore;
  readonly registry: Registry;
  readonly stop: AbortController;
  synced: boolean;
}

export class RemoteClusterFollower {
  readonly #deps: RemoteClusterDeps;
  readonly #firstSync = Promise.withResolvers<void>();
  #current: Connection | undefined;
  /** Takes the place of the current one once everything has been read through it. */
  #next: Connection | undefined;
  /** What is wrong with the kubeconfig. */
  #trouble: string | undefined;
  #refused: string | undefined;
  /** What was told last. */
  #reported = '';

  constructor(deps: RemoteClusterDeps) {
    this.#deps = deps;
  }

  /** Resolves when everything has been read once. */
  get synced(): Promise<void> {
    return this.#firstSync.promise;
  }

  /** Goes on with this kubeconfig, unless it is the one in use. */
  use(kubeconfig: Kubeconfig): void {
    switch (kubeconfig.type) {
      case 'pending':
        return;
      case 'missing':
        this.#trouble = kubeconfig.message;
        break;
      case 'found':
        this.#useText(kubeconfig.text);
        break;
    }
    this.#report();
  }

  /** What is in force; undefined before anything has been read. */
  value(): RemoteCluster | undefined {
    if (this.#current?.synced !== true) return undefined;
    const { registry } = this.#current;
    return {
      name: this.#deps.name,
      services: registry.services(),
      endpointSlices: registry.endpointSlices(),
      workloads: registry.workloads(),
      nodes: registry.nodes(),
    };
  }

  get state(): RemoteState {
    if (this.#current?.synced !== true) return 'waiting';
    return this.#obstacles().length > 0 ? 'lost' : 'followed';
  }

  /** What keeps it from being followed, and objects of it that cannot be used. */
  problems(): readonly Problem[] {
    const path = `remote cluster ${this.#deps.name}`;
    const stores = [this.#current, this.#next].flatMap((connection) => connection?.store.problems() ?? []);
    const objects = this.#current?.registry.problems() ?? [];
    const trouble = this.#trouble === undefined ? [] : [{ path, message: this.#trouble }];
    return [...trouble, ...[...stores, ...objects].map((problem) => ({ path, message: formatProblem(problem) }))];
  }

  close(): void {
    for (const connection of [this.#current, this.#next]) if (connection !== undefined) this.#close(connection);
    this.#firstSync.resolve();
  }

  #useText(text: Redacted): void {
    const kubeconfig = text.reveal();
    if (kubeconfig === this.#refused) return;
    this.#trouble = undefined;
    if (kubeconfig === (this.#next ?? this.#current)?.kubeconfig) return;
    try {
      this.#connect(kubeconfig);
      this.#refused = undefined;
    } catch (error) {
      this.#trouble = MeshError.from(error).message;
      this.#refused = kubeconfig;
    }
  }

  #connect(kubeconfig: string): void {
    const { open, follow, onChange } = this.#deps;
    const stop = new AbortController();
    const store = open(kubeconfig, () => this.#report());
    const connection: Connection = { kubeconfig, store, stop, registry: follow(store, stop.signal), synced: false };
    if (this.#next !== undefined) this.#close(this.#next);
    this.#next = undefined;
    if (this.#current === undefined) this.#current = connection;
    else this.#next = connection;
    const synced = (): void => {
      if (stop.signal.aborted) return;
      connection.synced = true;
      if (this.#next === connection) {
        if (this.#current !== undefined) this.#close(this.#current);
        this.#current = connection;
        this.#next = undefined;
      }
      this.#firstSync.resolve();
      this.#report();
      onChange();
    };
    connection.registry.synced.then(synced, () => {});
  }

  #close({ stop, store }: Connection): void {
    stop.abort();
    void store.close();
  }

  /** Nodes only say where endpoints are. */
  #obstacles(): readonly string[] {
    const store = this.#current?.store.problems().filter(({ path }) => path !== 'nodes') ?? [];
    return [...(this.#trouble === undefined ? [] : [this.#trouble]), ...store.map(({ message }) => message)];
  }

  /** Tells of every change of state, once. */
  #report(): void {
    const { state } = this;
    const [reason = this.#current?.store.problems()[0]?.message] = this.#obstacles();
    const told = state === 'waiting' ? `${state} ${reason ?? ''}` : state;
    if (told === this.#reported) return;
    this.#reported = told;
    const { name, logger } = this.#deps;
    switch (state) {
      case 'followed':
        return logger.info('remote cluster is followed', { cluster: name });
      case 'lost':
        return logger.warn('remote cluster is lost; its last endpoints stay in force', { cluster: name, reason });
      case 'waiting':
        if (reason !== undefined) logger.warn('remote cluster cannot be read', { cluster: name, reason });
    }
  }
}
