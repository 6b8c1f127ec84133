import { type Duration, seconds } from '../../lib/duration.ts';
import type { Fields } from '../../model/parse/fields.ts';
import type { CompiledInstance } from '../template/template.ts';
import { defineAdapter, SCHEMA } from './define.ts';
import { LIMIT_FIELDS, limitsSchema, type QuotaLimit, readLimit } from './quota-limits.ts';

const ALGORITHMS = ['FIXED_WINDOW', 'ROLLING_WINDOW'] as const;

export type RedisLimit = QuotaLimit &
  (
    | { readonly algorithm: 'FIXED_WINDOW' }
    /** `bucketDuration`: how finely the window is cut. */
    | { readonly algorithm: 'ROLLING_WINDOW'; readonly bucketDuration: Duration }
  );

export interface RedisquotaParams {
  /** `redis:` or `rediss:`. May hold a password. */
  readonly url: string;
  readonly connections: number;
  readonly limits: readonly RedisLimit[];
}

const MAX_CONNECTIONS = 100;
/** Of one rolling window: each is a field that every call reads. */
const MAX_BUCKETS = 1000;

/** Quotas counted in Redis, together by all that use it. */
export const redisquota = defineAdapter<RedisquotaParams>({
  name: 'redisquota',
  description: 'Counts quotas in a Redis, together for all replicas that use it, over fixed or rolling windows',
  templates: ['quota'],
  schema: SCHEMA.object(
    {
      redisServerUrl: { ...SCHEMA.text, description: 'host:port, or a redis: or rediss: URL' },
      connectionPoolSize: { ...SCHEMA.count, description: 'connections that share the calls; default 2' },
      quotas: limitsSchema({
        rateLimitAlgorithm: { type: 'string', enum: ALGORITHMS, description: 'default FIXED_WINDOW' },
        bucketDuration: { ...SCHEMA.duration, description: 'how finely a rolling window is cut' },
      }),
    },
    ['redisServerUrl'],
  ),
  read: (fields, instances) => {
    fields.noOthers(['redisServerUrl', 'connectionPoolSize', 'quotas']);
    return {
      url: readUrl(fields),
      connections: fields.wholeNumber('connectionPoolSize', 1, MAX_CONNECTIONS) ?? 2,
      limits: fields.objects('quotas').map((quota) => readRedisLimit(quota, instances)),
    };
  },
});

function readUrl(fields: Fields): string {
  const text = fields.requiredText('redisServerUrl');
  const url = text.includes('://') ? text : `redis://${text}`;
  if (text === '') return url;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  // The text may hold a password, so that no message repeats it.
  if (parsed === undefined || parsed.hostname === '' || !['redis:', 'rediss:'].includes(parsed.protocol))
    fields.refuse('redisServerUrl', 'must be host:port, or a redis: or rediss: URL');
  return url;
}

function readRedisLimit(quota: Fields, instances: readonly CompiledInstance[]): RedisLimit {
  quota.noOthers([...LIMIT_FIELDS, 'rateLimitAlgorithm', 'bucketDuration']);
  const limit = readLimit(quota, instances);
  const windows = [limit, ...limit.overrides].map(({ validDuration }) => validDuration);
  // Redis counts in milliseconds: what lapses at once would limit nothing.
  if (windows.some((window) => window > 0 && window < 1)) quota.refuse('validDuration', 'must be at least 1ms');
  const algorithm = quota.oneOf('rateLimitAlgorithm', ALGORITHMS) ?? 'FIXED_WINDOW';
  const bucketDuration = quota.duration('bucketDuration');
  if (algorithm === 'FIXED_WINDOW') {
    if (bucketDuration !== undefined) quota.refuse('bucketDuration', 'is for rateLimitAlgorithm ROLLING_WINDOW only');
    return { ...limit, algorithm };
  }
  if (bucketDuration === undefined || bucketDuration <= 0) {
    quota.refuse('bucketDuration', 'must be longer than 0s for a rolling window');
  } else if (bucketDuration >= Math.min(...windows)) {
    quota.refuse('bucketDuration', 'must be shorter than validDuration');
  } else if (Math.max(...windows) / bucketDuration > MAX_BUCKETS) {
    quota.refuse('bucketDuration', `must be at least a ${MAX_BUCKETS}th of validDuration`);
  }
  return { ...limit, algorithm, bucketDuration: bucketDuration ?? seconds(1) };
}
