import { type Duration, seconds } from '../../lib/duration.ts';
import { defineAdapter, SCHEMA } from './define.ts';
import { LIMIT_FIELDS, limitsSchema, type QuotaLimit, readLimit } from './quota-limits.ts';

export interface MemquotaParams {
  readonly limits: readonly QuotaLimit[];
  /** How long at least an allocation is remembered for a call that is tried again. */
  readonly minDeduplicationDuration: Duration;
}

/** Quotas counted in this process. */
export const memquota = defineAdapter<MemquotaParams>({
  name: 'memquota',
  description: 'Counts quotas in the memory of this one process, over a rolling window',
  templates: ['quota'],
  schema: SCHEMA.object({
    quotas: limitsSchema(),
    minDeduplicationDuration: {
      ...SCHEMA.duration,
      description: 'how long calls that are tried again are recognised; default 1s',
    },
  }),
  read: (fields, instances) => {
    fields.noOthers(['quotas', 'minDeduplicationDuration']);
    const minDeduplicationDuration = fields.duration('minDeduplicationDuration') ?? seconds(1);
    if (minDeduplicationDuration <= 0) fields.refuse('minDeduplicationDuration', 'must be longer than 0s');
    const limits = fields.objects('quotas').map((quota) => {
      quota.noOthers(LIMIT_FIELDS);
      return readLimit(quota, instances);
    });
    return { limits, minDeduplicationDuration };
  },
});
