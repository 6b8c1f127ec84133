/**
 * Serves the workload's secrets to its proxy: envoy.service.secret.v3.SecretDiscoveryService, state of the world and delta.
 * https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol
 */

import { DataSource } from '#gen/envoy/config/core/v3/base.ts';
import { Secret } from '#gen/envoy/extensions/transport_sockets/tls/v3/secret.ts';
import {
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
  DiscoveryRequest,
  DiscoveryResponse,
} from '#gen/envoy/service/discovery/v3/discovery.ts';
import type { Method, ServerStream } from '../io/grpc/types.ts';
import type { Logger } from '../io/log/logger.ts';
import { MeshError } from '../lib/errors.ts';
import { contentVersion, type SecretHolder, type Secrets } from './secrets.ts';

export const SECRET_TYPE = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret';
const SERVICE = '/envoy.service.secret.v3.SecretDiscoveryService';
/** The workload's key and certificates. */
const IDENTITY = 'default';
/** What peers' certificates are checked against. */
const ROOTS = 'ROOTCA';

export function secretMethods(holder: SecretHolder, logger: Logger): readonly Method[] {
  return [
    { type: 'stream', path: `${SERVICE}/StreamSecrets`, handle: (stream) => serve(stream, holder, new StateOfTheWorld(logger)) },
    { type: 'stream', path: `${SERVICE}/DeltaSecrets`, handle: (stream) => serve(stream, holder, new Delta(logger)) },
  ];
}

interface NamedSecret {
  readonly name: string;
  readonly version: string;
  readonly bytes: Uint8Array;
}

/** One variant of the protocol on one stream. */
interface Variant {
  /** Takes one request. @throws MeshError `not_found` for a secret that there never will be. */
  receive(request: Uint8Array): void;
  /** What to send now; undefined when the proxy has everything it asked for. */
  next(available: ReadonlyMap<string, NamedSecret>): Uint8Array | undefined;
}

/** Answers requests and pushes changes, one message at a time: a slow proxy gets the newest secrets, not all of them. */
async function serve(stream: ServerStream, holder: SecretHolder, variant: Variant): Promise<void> {
  let sending = Promise.resolve();
  const failed = Promise.withResolvers<never>();
  // Nobody may be waiting for it at the moment it fails.
  failed.promise.catch(() => {});
  const push = (): void => {
    sending = sending
      .then(async () => {
        const response = variant.next(secretsByName(holder.current));
        if (response !== undefined) await stream.write([response]);
      })
      .catch(failed.reject);
  };
  const receive = async (): Promise<void> => {
    for await (const request of stream.requests) {
      variant.receive(request);
      push();
    }
  };
  const stop = holder.onChange(push);
  try {
    await Promise.race([receive(), failed.promise]);
  } finally {
    stop();
  }
}

/** Each request names all the secrets of the stream, and a response has all of them that there are. */
class StateOfTheWorld implements Variant {
  readonly #logger: Logger;
  #names: readonly string[] = [];
  #sent = '';
  #nonce = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  receive(bytes: Uint8Array): void {
    const request = DiscoveryRequest.decode(bytes);
    requireType(request.typeUrl);
    if (request.errorDetail !== undefined) reportRefusal(this.#logger, request.errorDetail.message);
    requireNames(request.resourceNames);
    if (sameNames(this.#names, request.resourceNames)) return;
    this.#names = request.resourceNames;
    this.#sent = '';
  }

  next(available: ReadonlyMap<string, NamedSecret>): Uint8Array | undefined {
    const secrets = this.#names.map((name) => available.get(name)).filter((secret) => secret !== undefined);
    const version = secrets.map((secret) => secret.version).join('.');
    if (secrets.length === 0 || version === this.#sent) return undefined;
    this.#sent = version;
    this.#nonce += 1;
    const resources = secrets.map((secret) => ({ typeUrl: SECRET_TYPE, value: secret.bytes }));
    const response = { versionInfo: version, typeUrl: SECRET_TYPE, nonce: String(this.#nonce), resources };
    return DiscoveryResponse.encode(DiscoveryResponse.fromPartial(response)).finish();
  }
}

/** Requests add and remove names, and a response has only the secrets that changed. */
class Delta implements Variant {
  readonly #logger: Logger;
  /** The version that the proxy has of each secret it asked for; empty: none yet. */
  readonly #versions = new Map<string, string>();
  #nonce = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  receive(bytes: Uint8Array): void {
    const request = DeltaDiscoveryRequest.decode(bytes);
    requireType(request.typeUrl);
    if (request.errorDetail !== undefined) reportRefusal(this.#logger, request.errorDetail.message);
    requireNames(request.resourceNamesSubscribe);
    for (const name of request.resourceNamesSubscribe) this.#versions.set(name, request.initialResourceVersions[name] ?? '');
    for (const name of request.resourceNamesUnsubscribe) this.#versions.delete(name);
  }

  next(available: ReadonlyMap<string, NamedSecret>): Uint8Array | undefined {
    const changed = [...available.values()].filter((secret) => {
      const known = this.#versions.get(secret.name);
      return known !== undefined && known !== secret.version;
    });
    if (changed.length === 0) return undefined;
    for (const secret of changed) this.#versions.set(secret.name, secret.version);
    this.#nonce += 1;
    const resources = changed.map(({ name, version, bytes }) => ({
      name,
      version,
      resource: { typeUrl: SECRET_TYPE, value: bytes },
    }));
    const response = { typeUrl: SECRET_TYPE, nonce: String(this.#nonce), resources };
    return DeltaDiscoveryResponse.encode(DeltaDiscoveryResponse.fromPartial(response)).finish();
  }
}

function secretsByName(secrets: Secrets): ReadonlyMap<string, NamedSecret> {
  const named: NamedSecret[] = [];
  if (secrets.identity !== undefined) {
    const { keyPem, chainPem } = secrets.identity;
    const certificate = { certificateChain: inline(chainPem), privateKey: inline(keyPem.reveal()) };
    named.push(encode(Secret.fromPartial({ name: IDENTITY, type: { $case: 'tlsCertificate', tlsCertificate: certificate } })));
  }
  if (secrets.rootsPem !== undefined) {
    const context = { trustedCa: inline(secrets.rootsPem) };
    named.push(encode(Secret.fromPartial({ name: ROOTS, type: { $case: 'validationContext', validationContext: context } })));
  }
  return new Map(named.map((secret) => [secret.name, secret]));
}

function encode(secret: Secret): NamedSecret {
  const bytes = Secret.encode(secret).finish();
  return { name: secret.name, bytes, version: contentVersion(bytes) };
}

const inline = (pem: string): DataSource => DataSource.fromPartial({ specifier: { $case: 'inlineString', inlineString: pem } });

function requireType(type: string): void {
  if (type !== '' && type !== SECRET_TYPE)
    throw new MeshError('invalid', `the agent serves secrets, not resources of type ${type}`);
}

function requireNames(names: readonly string[]): void {
  const unknown = names.find((name) => name !== IDENTITY && name !== ROOTS);
  if (unknown !== undefined)
    throw new MeshError('not_found', `there is no secret "${unknown}"; the agent has ${IDENTITY} and ${ROOTS}`);
}

const sameNames = (a: readonly string[], b: readonly string[]): boolean => [...a].sort().join() === [...b].sort().join();

function reportRefusal(logger: Logger, reason: string): void {
  logger.error('the proxy refuses a secret', { reason });
}
