import type { CircuitState } from './circuit-breaker.ts';

/** How a handler gets on with its back end. */
export interface HandlerCondition {
  readonly circuit: CircuitState;
  /** `refused`: the back end does not take the handler's parameters. */
  readonly session: 'none' | 'open' | 'refused';
  /** What the back end says of itself. */
  readonly health: 'unknown' | 'serving' | 'not serving';
  /** Calls that wait for it. */
  readonly waiting: number;
  /** Calls that came to nothing, since the handler was opened. */
  readonly failures: number;
  /** What is wrong now, if anything. */
  readonly trouble: string | undefined;
}

/** Conditions of the handlers that have something to tell, for a page and for metrics. */
export class HandlerConditions {
  readonly #shown = new Map<string, () => HandlerCondition>();

  /** Shown until the returned function is called, or until another one is shown for the handler. */
  show(handler: string, read: () => HandlerCondition): () => void {
    this.#shown.set(handler, read);
    return () => {
      if (this.#shown.get(handler) === read) this.#shown.delete(handler);
    };
  }

  of(handler: string): HandlerCondition | undefined {
    return this.#shown.get(handler)?.();
  }

  /** By handler. */
  all(): readonly (readonly [handler: string, condition: HandlerCondition])[] {
    const read = [...this.#shown].map(([handler, condition]) => [handler, condition()] as const);
    return read.sort(([a], [b]) => (a < b ? -1 : 1));
  }
}
