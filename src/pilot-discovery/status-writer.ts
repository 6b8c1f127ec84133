/** Keeps the status of policies true to what proxies and other policies make of them. See docs/decisions/policy-status.md. */
import type { Logger } from '../io/log/logger.ts';
import { type Duration, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { describeObject, type KubeObject, type ResourceKind } from '../model/object.ts';
import { isWrittenByPeople } from '../sources/store/directory-file.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import { type PolicyFaults, withFaults } from './policy-status.ts';

export interface StatusWriterDeps {
  readonly store: Pick<ObjectStore, 'list' | 'replace'>;
  readonly kinds: readonly ResourceKind[];
  /** The policies with something wrong, by `Kind namespace/name`. */
  readonly faults: () => ReadonlyMap<string, PolicyFaults>;
  readonly reporterId: string;
  readonly now: () => Date;
  /** Runs something later; gives a function that takes it back. */
  readonly timer: (run: () => void, delay: Duration) => () => void;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** For policies whose status is not ours to write. */
export const NO_STATUS: StatusWriter = { touch() {} };

export interface StatusWriter {
  /** Something may have changed; soon, and not too often, the status of every policy is compared and written where it differs. */
  touch(): void;
}

/** Between two rounds, so that a proxy that rejects and takes in turns costs a few writes a minute. */
const PAUSE = seconds(2);
/** Writes of one round; what is left is for the next. */
const MAX_WRITES = 50;

export function createStatusWriter(deps: StatusWriterDeps): StatusWriter {
  const { store, kinds, signal, logger } = deps;
  let again = false;
  let cancel: (() => void) | undefined;
  /** Whether there was something to report, and so may be something to clear; at first nobody knows. */
  let reported = true;

  const schedule = (): void => {
    cancel ??= deps.timer(() => void round(), PAUSE);
  };
  const round = async (): Promise<void> => {
    again = false;
    const faults = deps.faults();
    const relevant = reported || faults.size > 0;
    reported = faults.size > 0;
    try {
      if (relevant) await write(faults);
    } catch (thrown) {
      if (!signal.aborted) logger.warn('the status of policies cannot be written', { reason: MeshError.from(thrown).message });
      reported = true;
    }
    cancel = undefined;
    if (again && !signal.aborted) schedule();
  };

  async function write(faults: ReadonlyMap<string, PolicyFaults>): Promise<void> {
    const lists = await Promise.all(kinds.map((kind) => store.list(kind)));
    const reporter = { id: deps.reporterId, now: deps.now() };
    const changed = lists
      .flat()
      .filter((object) => !isWrittenByPeople(object))
      .map((object) => withFaults(object, faults.get(describeObject(object)), reporter))
      .filter((object) => object !== undefined);
    if (changed.length > MAX_WRITES) again = reported = true;
    for (const object of changed.slice(0, MAX_WRITES)) {
      if (signal.aborted) return;
      await replace(object);
    }
  }

  /** Somebody else's change comes first: the object is looked at again in the next round. */
  async function replace(object: KubeObject): Promise<void> {
    try {
      await store.replace(object);
    } catch (thrown) {
      const error = MeshError.from(thrown);
      if (error.code !== 'conflict' && error.code !== 'not_found') throw error;
      again = reported = true;
    }
  }

  signal.addEventListener('abort', () => cancel?.(), { once: true });
  return {
    touch() {
      if (signal.aborted) return;
      again = true;
      schedule();
    },
  };
}
