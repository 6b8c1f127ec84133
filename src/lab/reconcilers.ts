import { Reconciler, type ReconcilerOptions } from './reconciler.ts';

/** The tasks of a daemon by name, each with a reconciler of its own. */
export class Reconcilers {
  readonly #options: Omit<ReconcilerOptions, 'name' | 'reconcile'>;
  readonly #byName = new Map<string, Reconciler>();

  constructor(options: Omit<ReconcilerOptions, 'name' | 'reconcile'>) {
    this.#options = options;
  }

  add(name: string, reconcile: ReconcilerOptions['reconcile']): void {
    this.#byName.set(name, new Reconciler({ ...this.#options, name, reconcile }));
  }

  /** Does nothing for tasks that are not added yet: all are triggered when they all are. */
  trigger(names: readonly string[]): void {
    for (const name of names) this.#byName.get(name)?.trigger();
  }

  triggerAll(): void {
    this.trigger([...this.#byName.keys()]);
  }
}
