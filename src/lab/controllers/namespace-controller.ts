import type { Cluster } from '../cluster.ts';

const EMPTIED = ['deployment', 'pod', 'service', 'endpointSlice', 'configMap', 'secret', 'serviceAccount'] as const;

/** Gives every namespace its service account `default`, and empties a namespace that was deleted. */
export class NamespaceController {
  readonly #cluster: Cluster;
  /** Only what was there and has gone is emptied: objects of a namespace that nobody has declared are left alone. */
  readonly #seen = new Set<string>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async reconcile(): Promise<void> {
    const cluster = this.#cluster;
    const names = new Set(cluster.list('namespace').map(({ metadata }) => metadata.name));
    for (const namespace of names) {
      this.#seen.add(namespace);
      if (cluster.find('serviceAccount', namespace, 'default') !== undefined) continue;
      await cluster.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } });
    }
    for (const gone of [...this.#seen].filter((name) => !names.has(name))) {
      for (const kind of EMPTIED) {
        for (const object of cluster.list(kind)) if (object.metadata.namespace === gone) await cluster.delete(kind, object);
      }
      this.#seen.delete(gone);
    }
  }
}
