import type { Vocabulary } from '../../rules/attribute/bag.ts';
import type { QuotaCharges } from '../../rules/config/quota-charges.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { WorkerPool } from '../worker-pool.ts';

/** What the interfaces that Envoy speaks work with. */
export interface ApiOptions {
  /** Asked for every request, so that a change of configuration holds from the next one on. */
  readonly inForce: () => {
    readonly dispatcher: Dispatcher;
    readonly vocabulary: Vocabulary;
    readonly charges: QuotaCharges;
  };
  readonly pool: WorkerPool;
  /** Told of a message of a stream, or an entry of a log, that is left out because it cannot be read. */
  readonly malformed: (method: string, reason: string) => void;
}
