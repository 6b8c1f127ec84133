/** envoy.service.ratelimit.v3.RateLimitService: quotas, asked for by proxies and gateways that have rate limits of their own. */
import type { RateLimitDescriptor } from '#gen/envoy/extensions/common/ratelimit/v3/ratelimit.ts';
import {
  RateLimitRequest,
  RateLimitResponse,
  RateLimitResponse_Code,
  RateLimitResponse_DescriptorStatus,
} from '#gen/envoy/service/ratelimit/v3/rls.ts';
import { type CallContext, type Method, unary } from '../../io/grpc/types.ts';
import { MeshError } from '../../lib/errors.ts';
import { RPC_CODES } from '../../lib/rpc-code.ts';
import type { Vocabulary } from '../../rules/attribute/bag.ts';
import { bagFrom } from '../../rules/attribute/bags.ts';
import type { ApiOptions } from './api-options.ts';
import { AttributeMap } from './attribute-map.ts';
import { addDestination, addService } from './destination.ts';

const MAX_DESCRIPTORS = 100;

export function rateLimitMethods(options: ApiOptions): readonly Method[] {
  const { pool } = options;
  return [
    unary(
      '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
      RateLimitRequest,
      RateLimitResponse,
      (request, context) => pool.run(() => limit(request, context, options), context.signal),
    ),
  ];
}

/**
 * The domain names a quota instance. Each descriptor is a request of its own that takes `hits_addend` (at least 1) of it; one that is not
 * granted makes the whole answer OVER_LIMIT.
 *
 * @throws MeshError `not_found` for a domain that no rule allocates a quota of
 */
async function limit(
  { domain, descriptors, hitsAddend }: RateLimitRequest,
  { metadata, signal }: CallContext,
  { inForce }: ApiOptions,
): Promise<RateLimitResponse> {
  if (descriptors.length > MAX_DESCRIPTORS) {
    throw new MeshError('invalid', `descriptors: a request has at most ${MAX_DESCRIPTORS}`);
  }
  const { dispatcher, vocabulary } = inForce();
  const amount = Math.max(1, hitsAddend);
  const statuses = await Promise.all(
    descriptors.map(async (descriptor) => {
      const { values } = attributesOfDescriptor(descriptor, metadata, vocabulary);
      const bag = await dispatcher.prepare(bagFrom(values), signal);
      const { status, granted } = await dispatcher.quota(domain, bag, { amount, bestEffort: false, deduplicationId: '' }, signal);
      if (status.code === RPC_CODES.NOT_FOUND) throw new MeshError('not_found', `domain: ${status.message}`);
      if (status.code !== RPC_CODES.OK && status.code !== RPC_CODES.RESOURCE_EXHAUSTED)
        throw new MeshError('unavailable', `quota ${domain}: ${status.message}`);
      return granted >= amount ? RateLimitResponse_Code.OK : RateLimitResponse_Code.OVER_LIMIT;
    }),
  );
  const over = statuses.includes(RateLimitResponse_Code.OVER_LIMIT);
  return RateLimitResponse.fromPartial({
    overallCode: over ? RateLimitResponse_Code.OVER_LIMIT : RateLimitResponse_Code.OK,
    statuses: statuses.map((code) => RateLimitResponse_DescriptorStatus.fromPartial({ code })),
  });
}

/** Keys that Envoy's own rate limit actions write, and the attributes that they are. */
const ENVOY_KEYS: Readonly<Record<string, string>> = { remote_address: 'source.ip', masked_remote_address: 'source.ip' };

/**
 * A key that is the name of an attribute becomes that attribute, `remote_address` the source's, `destination_cluster` the service it names;
 * every other one is an entry of request.headers, where expressions can find it.
 */
function attributesOfDescriptor(
  { entries }: RateLimitDescriptor,
  metadata: ReadonlyMap<string, string>,
  vocabulary: Vocabulary,
): AttributeMap {
  const attributes = new AttributeMap();
  const others = new Map<string, string>();
  addDestination(attributes, metadata, undefined);
  for (const { key, value } of entries) {
    const name = ENVOY_KEYS[key] ?? key;
    if (key === 'destination_cluster') addService(attributes, value.split('|')[3] ?? value);
    else if (!attributes.parsed(name, vocabulary.typeOf(name), value)) others.set(key, value);
  }
  attributes.map('request.headers', others);
  return attributes;
}
