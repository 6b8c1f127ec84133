/** What a webhook answers, read into resources. */
import { DiscoveryResponse } from '#gen/envoy/service/discovery/v3/discovery.ts';
import { Any } from '#gen/google/protobuf/any.ts';
import type { EncodedResource, ResourceSet, TypeUrl } from '../delivery/ports.ts';
import { MeshError } from '../lib/errors.ts';
import { decodeResource } from '../xds/decode.ts';
import { encodeResource } from '../xds/encode.ts';
import { createEncoder } from '../xds/encoder.ts';
import type { WebhookAnswer } from './webhook-client.ts';

/** The JSON of a DiscoveryResponse. */
export function writeResponse(set: ResourceSet): string {
  const resources = [...set.resources.values()].map(({ any }) => decodeResource(any));
  return JSON.stringify({ versionInfo: set.version, typeUrl: set.typeUrl, resources });
}

/**
 * The set that an answer puts in the place of ours; undefined when it leaves ours. A resource that is the same as before stays the same object.
 * Throws MeshError `invalid` with what is wrong.
 */
export function readAnswer(
  answer: WebhookAnswer,
  set: ResourceSet,
  hash: (bytes: Uint8Array) => string,
): ResourceSet | undefined {
  if (answer.status === 204) return undefined;
  if (answer.status !== 200) throw new MeshError('invalid', `status ${answer.status} is neither 200 nor 204`);
  const encoder = createEncoder(set.typeUrl, hash);
  const seen = new Set<string>();
  const resources = readResources(answer, set.typeUrl).map((any): EncodedResource => {
    const name = nameOf(any);
    if (seen.has(name)) throw new MeshError('invalid', `resource ${JSON.stringify(name)} is there twice`);
    seen.add(name);
    return encoder.resource(name, any.value, set.resources.get(name));
  });
  const replaced = encoder.set(resources, set);
  return replaced.version === set.version ? undefined : replaced;
}

function readResources({ contentType, body }: WebhookAnswer, typeUrl: TypeUrl): readonly Any[] {
  const resources = contentType === 'application/json' ? readJson(body, typeUrl) : readProtobuf(contentType, body, typeUrl);
  const other = resources.find((any) => any.typeUrl !== typeUrl);
  if (other !== undefined) throw new MeshError('invalid', `a resource is of type ${other.typeUrl.slice(0, 200)}, not ${typeUrl}`);
  return resources;
}

function readJson(body: Buffer, typeUrl: TypeUrl): readonly Any[] {
  const response: unknown = JSON.parse(body.toString('utf8'));
  if (typeof response !== 'object' || response === null || !('resources' in response) || !Array.isArray(response.resources)) {
    throw new MeshError('invalid', 'it has no list of resources');
  }
  const fields: Readonly<Record<string, unknown>> = { ...response };
  requireType(fields['typeUrl'] ?? fields['type_url'] ?? typeUrl, typeUrl);
  return response.resources.map((resource, index) => Any.decode(encodeResource(resource, `resources[${index}]`)));
}

function readProtobuf(contentType: string, body: Buffer, typeUrl: TypeUrl): readonly Any[] {
  if (!['application/x-protobuf', 'application/protobuf'].includes(contentType)) {
    throw new MeshError('invalid', `content type ${JSON.stringify(contentType)} is neither JSON nor protobuf`);
  }
  const response = DiscoveryResponse.decode(body);
  requireType(response.typeUrl, typeUrl);
  return response.resources;
}

function requireType(given: unknown, typeUrl: TypeUrl): void {
  if (given !== typeUrl) throw new MeshError('invalid', `it is about type ${JSON.stringify(given)}, not ${typeUrl}`);
}

/** Load assignments are named after their cluster. */
function nameOf(any: Any): string {
  const json = decodeResource(Any.encode(any).finish());
  const fields: Readonly<Record<string, unknown>> = { ...Object(json) };
  const name = fields['name'] ?? fields['clusterName'];
  if (typeof name !== 'string' || name === '') throw new MeshError('invalid', 'a resource has no name');
  return name;
}
