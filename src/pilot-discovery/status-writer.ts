/** Keeps the status of policies true to what proxies and other policies make of them. See docs/decisions/policy-status.md. */
import type { Logger } from '../io/log/logger.ts';
import { type Duration, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import type { Names } from '../lib/names.ts';
import { describeObject, type KubeObject, type ResourceKind } from '../model/object.ts';
import { parseMeshPolicy } from '../model/parse/mesh-policy.ts';
import { parsePolicy } from '../model/parse/policy.ts';
import { isWrittenByPeople } from '../sources/store/directory-file.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import { contentOf, type PolicyReport } from './policy-report.ts';
import { type Reporter, withReport } from './policy-status.ts';

export interface StatusWriterDeps {
  readonly store: Pick<ObjectStore, 'list' | 'replace'>;
  readonly kinds: readonly ResourceKind[];
  readonly names: Pick<Names, 'authentication'>;
  /** All policies of the snapshot in force, by `Kind namespace/name`. */
  readonly reports: () => ReadonlyMap<string, PolicyReport>;
  readonly reporterId: string;
  readonly isGone?: Reporter['isGone'];
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
/** How long a change of mere numbers waits: pods come and go all the time. */
const COUNTS_PAUSE = seconds(30);
/** Writes of one round; what is left is for the next. */
const MAX_WRITES = 50;

export function createStatusWriter(deps: StatusWriterDeps): StatusWriter {
  const { store, kinds, signal, logger } = deps;
  let again = false;
  let cancel: (() => void) | undefined;
  let cancelCounts: (() => void) | undefined;
  /** What the last complete round was about; undefined: there was none, or it did not get through. */
  let written: { readonly state: string; readonly counts: string } | undefined;

  const schedule = (): void => {
    cancel ??= deps.timer(() => void round(), PAUSE);
  };
  const round = async (): Promise<void> => {
    again = false;
    const reports = deps.reports();
    const about = { state: stateOf(reports), counts: countsOf(reports) };
    try {
      // Where there are no policies there may not even be their kinds.
      if (reports.size === 0) written = about;
      else if (written?.state !== about.state) await write(reports, about);
      else if (written.counts !== about.counts) scheduleCounts();
    } catch (thrown) {
      if (!signal.aborted) logger.warn('the status of policies cannot be written', { reason: MeshError.from(thrown).message });
      written = undefined;
    }
    cancel = undefined;
    if (again && !signal.aborted) schedule();
  };
  const scheduleCounts = (): void => {
    cancelCounts ??= deps.timer(() => {
      cancelCounts = undefined;
      written = undefined;
      touch();
    }, COUNTS_PAUSE);
  };

  async function write(reports: ReadonlyMap<string, PolicyReport>, about: NonNullable<typeof written>): Promise<void> {
    written = about;
    const lists = await Promise.all(kinds.map((kind) => store.list(kind)));
    const { reporterId: id, isGone } = deps;
    const reporter: Reporter = { id, now: deps.now(), ...(isGone === undefined ? {} : { isGone }) };
    const changed = lists
      .flat()
      .filter((object) => !isWrittenByPeople(object))
      .map((object) => reported(object, reports.get(describeObject(object)), reporter))
      .filter((object) => object !== undefined);
    if (changed.length > MAX_WRITES) lookAgain();
    for (const object of changed.slice(0, MAX_WRITES)) {
      if (signal.aborted) return;
      await replace(object);
    }
  }

  /** Nothing is said about an object that the snapshot has not, or has otherwise: that comes with a later one. */
  function reported(object: KubeObject, report: PolicyReport | undefined, reporter: Reporter): KubeObject | undefined {
    const parse = object.kind === 'MeshPolicy' ? parseMeshPolicy : parsePolicy;
    const parsed = parse(object, deps.names);
    if (report === undefined || !parsed.ok || contentOf(parsed.value) !== contentOf(report.policy)) return undefined;
    return withReport(object, report, reporter);
  }

  /** Somebody else's change comes first: the object is looked at again in the next round. */
  async function replace(object: KubeObject): Promise<void> {
    try {
      await store.replace(object);
    } catch (thrown) {
      const error = MeshError.from(thrown);
      if (error.code !== 'conflict' && error.code !== 'not_found') throw error;
      lookAgain();
    }
  }

  function lookAgain(): void {
    again = true;
    written = undefined;
  }

  function touch(): void {
    if (signal.aborted) return;
    again = true;
    schedule();
  }

  const stop = (): void => {
    cancel?.();
    cancelCounts?.();
  };
  signal.addEventListener('abort', stop, { once: true });
  return { touch };
}

/** What is told soon. The version of an object is part of it, so that whatever somebody does to it is looked at. */
function stateOf(reports: ReadonlyMap<string, PolicyReport>): string {
  const states = [...reports].map(([name, { policy, rejected, conflict, services, proxies }]) => [
    name,
    policy.resourceVersion,
    rejected,
    conflict,
    services.length > 0,
    proxies.connected > 0,
    proxies.connected === proxies.acknowledged,
  ]);
  return JSON.stringify(states);
}

function countsOf(reports: ReadonlyMap<string, PolicyReport>): string {
  return JSON.stringify([...reports].map(([name, { services, proxies }]) => [name, services, proxies]));
}
