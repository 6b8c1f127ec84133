import { MeshError } from '../../lib/errors.ts';
import type { ConfiguredHandler } from '../../rules/config/configuration.ts';
import type { Handler } from '../adapter/adapter.ts';

const LAST_WORDS_MS = 500;

interface Open {
  readonly handler: Handler;
  readonly close: () => Promise<void>;
}

export interface HandlerTableOptions {
  readonly open: (handler: ConfiguredHandler, signal: AbortSignal) => Handler;
  /** Told of a handler that cannot be opened or closed. */
  readonly onProblem: (handler: ConfiguredHandler, error: MeshError) => void;
  /** How long those who still call a handler that has been replaced may go on, and how long it may flush, in milliseconds. */
  readonly graceMs: number;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

/** The handlers that are open. One whose configuration did not change stays open, with what it has counted and cached. */
export class HandlerTable {
  readonly #options: HandlerTableOptions;
  readonly #closing = new Set<Promise<void>>();
  #open = new Map<string, Open>();

  constructor(options: HandlerTableOptions) {
    this.#options = options;
  }

  /** Opens what is new, and closes what is gone once its callers are done. Gives the handlers by id; those that cannot be opened are missing. */
  update(configured: Iterable<ConfiguredHandler>): ReadonlyMap<string, Handler> {
    const before = this.#open;
    this.#open = new Map();
    const byId = new Map<string, Handler>();
    for (const handler of configured) {
      const open = before.get(handler.key) ?? this.#tryOpen(handler);
      if (open === undefined) continue;
      before.delete(handler.key);
      this.#open.set(handler.key, open);
      byId.set(handler.id, open.handler);
    }
    for (const { close } of before.values()) this.#closeLater(close);
    return byId;
  }

  #closeLater(close: () => Promise<void>): void {
    const closing = this.#options.sleep(this.#options.graceMs).then(close);
    this.#closing.add(closing);
    void closing.then(() => this.#closing.delete(closing));
  }

  /** Flushes and closes all, those too that were replaced and are not closed yet. */
  async close(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open = new Map();
    await Promise.all([...open.map(({ close }) => close()), ...this.#closing]);
  }

  #tryOpen(configured: ConfiguredHandler): Open | undefined {
    const { open, onProblem, graceMs } = this.#options;
    const stop = new AbortController();
    try {
      const handler = open(configured, stop.signal);
      const close = async (): Promise<void> => {
        try {
          await closed(handler, AbortSignal.timeout(graceMs));
        } catch (thrown) {
          onProblem(configured, MeshError.from(thrown));
        } finally {
          stop.abort();
        }
      };
      return { handler, close };
    } catch (thrown) {
      stop.abort();
      onProblem(configured, MeshError.from(thrown));
      return undefined;
    }
  }
}

/** One that takes no notice of the end of its time is left behind: the others, and the end of the server, do not wait for it. */
function closed(handler: Handler, limit: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new MeshError('deadline_exceeded', 'the handler does not end: what it still had is lost'));
    // Who keeps to the limit ends just after it.
    limit.addEventListener('abort', () => setTimeout(late, LAST_WORDS_MS), { once: true });
    handler.close(limit).then(resolve, reject);
  });
}
