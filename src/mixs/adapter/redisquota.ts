import { createHash } from 'node:crypto';
import { MeshError } from '../../lib/errors.ts';
import { RPC_CODES } from '../../lib/rpc-code.ts';
import type { RedisLimit, RedisquotaParams } from '../../rules/adapter/redisquota.ts';
import type { Instances } from '../../rules/template/instances.ts';
import type { AdapterEnvironment, Handler, QuotaRequest, QuotaResult } from './adapter.ts';
import { limitFor, quotaKey } from './quota-key.ts';
import { RedisConnection } from './redis-connection.ts';
import { FIXED_WINDOW, type RedisScript, ROLLING_WINDOW } from './redis-scripts.ts';

/** Quotas in a Redis. While it does not answer nothing is granted. */
export function openRedisquota({ url, connections, limits }: RedisquotaParams, environment: AdapterEnvironment): Handler {
  const pool = Array.from({ length: connections }, () => new RedisConnection(url, environment));
  let next = 0;
  return {
    quota: async (instance, request) => {
      const limit = limits.find(({ instance: name }) => name === instance.name);
      // Rules send only instances that some limit names, or the limit would have been refused.
      if (limit === undefined) return nothing(RPC_CODES.NOT_FOUND, `there is no limit for ${instance.name}`);
      const connection = pool[next++ % pool.length];
      if (connection === undefined) return nothing(RPC_CODES.INTERNAL, 'there are no connections');
      const { script, keys, values } = callOf(limit, instance, request);
      try {
        return resultOf(await connection.run(script, keys, values));
      } catch (thrown) {
        return nothing(RPC_CODES.UNAVAILABLE, MeshError.from(thrown).message);
      }
    },
    close: async () => {
      for (const connection of pool) connection.close();
    },
  };
}

const nothing = (code: number, message: string): QuotaResult => ({ status: { code, message }, granted: 0, validMs: 0 });

interface ScriptCall {
  readonly script: RedisScript;
  readonly keys: readonly string[];
  readonly values: readonly (string | number)[];
}

function callOf(limit: RedisLimit, instance: Instances['quota'], request: QuotaRequest): ScriptCall {
  const { maxAmount, validDuration } = limitFor(limit, instance.dimensions);
  // Dimensions may be as long as a request; braces keep the keys of a call on one node of a Redis Cluster.
  const counter = `{mixs:${instance.name}:${digest(quotaKey(instance))}}:${limit.algorithm}:${validDuration}`;
  const remembered = `${counter}:${digest(request.deduplicationId)}`;
  const yes = (flag: boolean): string => (flag ? '1' : '0');
  const common = [request.amount, maxAmount, validDuration, yes(request.bestEffort), yes(request.deduplicationId !== '')];
  return limit.algorithm === 'FIXED_WINDOW'
    ? { script: FIXED_WINDOW, keys: [counter, remembered], values: common }
    : {
        script: ROLLING_WINDOW,
        keys: [`${counter}:${limit.bucketDuration}`, remembered],
        values: [...common, limit.bucketDuration],
      };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

function resultOf(reply: unknown): QuotaResult {
  const [granted, validMs] = Array.isArray(reply) ? reply.map(Number) : [];
  if (granted === undefined || validMs === undefined || !(granted >= 0) || !(validMs >= 0))
    return nothing(RPC_CODES.INTERNAL, 'redis gave an answer that is none');
  return { status: granted > 0 ? { code: 0, message: '' } : { code: 8, message: 'quota is exhausted' }, granted, validMs };
}
