/** The configuration in force: follows the store's objects, compiles them, and opens the handlers they name. */
import type { Logger } from '../io/log/logger.ts';
import { milliseconds, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { describeObject, type KubeObject, type ResourceKind } from '../model/object.ts';
import { compileConfiguration } from '../rules/config/compile.ts';
import type { Configuration, ConfiguredHandler, ObjectProblem } from '../rules/config/configuration.ts';
import { Permissions } from '../rules/rbac/permissions.ts';
import { type Collection, followKind } from '../sources/collection.ts';
import { createDebouncer, type Timers } from '../sources/debounce.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import type { OpenedStore } from '../sources/store/open.ts';
import type { Handler } from './adapter/adapter.ts';
import { createDispatcher, type DispatchOptions } from './dispatch/dispatch.ts';
import type { Dispatcher } from './dispatch/dispatcher.ts';
import { HandlerTable } from './dispatch/handler-table.ts';

const QUIET = milliseconds(100);
const LONGEST = seconds(2);
/** Calls of a handler that was replaced, and its last flush, have this long. */
const HANDLER_GRACE_MS = 5_000;
const NO_PERMISSIONS = new Permissions([], []);

export interface RulesInForce {
  readonly configuration: Configuration;
  readonly dispatcher: Dispatcher;
}

export interface FollowRulesOptions {
  readonly store: ObjectStore & Pick<OpenedStore, 'placeOf'>;
  readonly kinds: readonly ResourceKind[];
  readonly dispatch: DispatchOptions;
  /** `permissions` gives what the roles in force allow when it is called. */
  readonly open: (handler: ConfiguredHandler, signal: AbortSignal, permissions: () => Permissions) => Handler;
  readonly onChange: (configuration: Configuration) => void;
  readonly timers: Timers;
  readonly sleep: (milliseconds: number) => Promise<void>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface FollowedRules {
  current(): RulesInForce;
  /** Flushes and closes the handlers. */
  close(): Promise<void>;
}

/** Resolves when the first configuration is in force. A change is in force as a whole, between two requests. */
export async function followRules(options: FollowRulesOptions): Promise<FollowedRules> {
  const { store, kinds, logger, signal, timers } = options;
  const permissions = (): Permissions => current?.configuration.permissions ?? NO_PERMISSIONS;
  const handlers = new HandlerTable({
    open: (handler, closed) => options.open(handler, closed, permissions),
    graceMs: HANDLER_GRACE_MS,
    sleep: options.sleep,
    onProblem: ({ id }, error) => logger.error('a handler does not work', { handler: id, reason: error.message }),
  });
  let collections: readonly Collection<KubeObject>[] = [];
  let current: RulesInForce | undefined;
  const told = new ProblemLog(logger, (object) => store.placeOf?.(object));

  // What comes while the store is listed for the first time is in the first configuration.
  let hasChanged = false;
  const compile = (): RulesInForce => {
    hasChanged = false;
    const objects = collections.flatMap((collection) => collection.values());
    const configuration = compileConfiguration(objects, current?.configuration);
    told.tell(configuration.problems);
    const open = handlers.update(configuration.handlers.values());
    const inForce = { configuration, dispatcher: createDispatcher(configuration, open, options.dispatch) };
    const { rules, instances } = configuration;
    logger.info('the configuration is in force', { rules: rules.size, handlers: open.size, instances: instances.size });
    current = inForce;
    options.onChange(configuration);
    return inForce;
  };
  /** Whatever goes wrong with a change must not end a server that works. */
  const tryCompile = (): void => {
    try {
      compile();
    } catch (thrown) {
      logger.error('a change of the configuration failed: what was in force stays', { reason: MeshError.from(thrown).message });
    }
  };
  const debouncer = createDebouncer({ quiet: QUIET, max: LONGEST, timers }, () => {
    if (hasChanged && current !== undefined) tryCompile();
  });
  const touched = (): void => {
    hasChanged = true;
    debouncer.touch();
  };
  signal.addEventListener('abort', () => debouncer.close(), { once: true });
  const parse = (object: KubeObject) => ({ ok: true, value: object }) as const;
  collections = kinds.map((kind) => followKind({ store, kind, parse, onChange: touched, logger, signal }));
  await Promise.all(collections.map(({ synced }) => synced));
  const first = compile();
  return { current: () => current ?? first, close: () => handlers.close() };
}

/** Logs every problem once, and once more when it is gone. */
class ProblemLog {
  readonly #logger: Logger;
  readonly #placeOf: (object: KubeObject) => string | undefined;
  #told = new Map<string, ObjectProblem>();

  constructor(logger: Logger, placeOf: (object: KubeObject) => string | undefined) {
    this.#logger = logger;
    this.#placeOf = placeOf;
  }

  tell(problems: readonly ObjectProblem[]): void {
    const now = new Map(
      problems.map((problem) => [JSON.stringify([describeObject(problem.object), problem.path, problem.message]), problem]),
    );
    for (const [key, { object, path, message, inForce }] of now) {
      if (this.#told.has(key)) continue;
      const file = this.#placeOf(object);
      const place = file === undefined ? {} : { file };
      this.#logger.error('configuration refused', { object: describeObject(object), ...place, path, reason: message, inForce });
    }
    for (const [key, { object, path }] of this.#told) {
      if (!now.has(key)) this.#logger.info('configuration is right again', { object: describeObject(object), path });
    }
    this.#told = now;
  }
}
