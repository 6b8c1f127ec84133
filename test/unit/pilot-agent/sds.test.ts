import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type ClientDuplexStream, credentials } from '@grpc/grpc-js';
import { expect } from 'chai';
import { Secret } from '#gen/envoy/extensions/transport_sockets/tls/v3/secret.ts';
import {
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
  DiscoveryRequest,
  DiscoveryResponse,
} from '#gen/envoy/service/discovery/v3/discovery.ts';
import { createGrpcServer } from '../../../src/io/grpc/server.ts';
import type { Codec, GrpcServer } from '../../../src/io/grpc/types.ts';
import { Redacted } from '../../../src/lib/redacted.ts';
import { SECRET_TYPE, secretMethods } from '../../../src/pilot-agent/sds.ts';
import { type Identity, SecretHolder } from '../../../src/pilot-agent/secrets.ts';
import { type LogEntry, MemoryLogger } from '../../fakes/memory-logger.ts';

const identity = (chainPem: string): Identity => ({
  keyPem: new Redacted('the key'),
  chainPem,
  obtainedAt: new Date(0),
  notAfter: new Date(1),
});
const DETAIL = { code: 3, message: 'bad certificate', details: [] };

/** One stream of a client, message by message. */
class Stream<Req, Res> {
  readonly #call: ClientDuplexStream<Req, Res>;
  readonly #responses: AsyncIterator<Res>;

  constructor(client: Client, method: string, request: Codec<Req>, response: Codec<Res>) {
    this.#call = client.makeBidiStreamRequest(
      `/envoy.service.secret.v3.SecretDiscoveryService/${method}`,
      (message: Req) => Buffer.from(request.encode(message).finish()),
      (bytes: Buffer) => response.decode(bytes),
    );
    this.#responses = this.#call[Symbol.asyncIterator]();
  }

  send(request: Req): void {
    this.#call.write(request);
  }

  async next(): Promise<Res> {
    return (await this.#responses.next()).value;
  }

  failure(): Promise<string> {
    return this.next().then(
      () => 'none',
      (error: Error) => error.message,
    );
  }
}

describe('secret discovery', () => {
  let folder: string;
  let server: GrpcServer;
  let client: Client;
  let holder: SecretHolder;
  let logger: MemoryLogger;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mesh-sds-'));
    holder = new SecretHolder();
    logger = new MemoryLogger();
    server = createGrpcServer({ methods: secretMethods(holder, logger) }, logger);
    await server.listen({ path: join(folder, 'sds.sock') });
    client = new Client(`unix:${join(folder, 'sds.sock')}`, credentials.createInsecure());
  });

  afterEach(async () => {
    client.close();
    await server.close(0);
    await rm(folder, { recursive: true });
  });

  const sotw = () => new Stream(client, 'StreamSecrets', DiscoveryRequest, DiscoveryResponse);
  const delta = () => new Stream(client, 'DeltaSecrets', DeltaDiscoveryRequest, DeltaDiscoveryResponse);
  const ask = (...resourceNames: string[]) => DiscoveryRequest.fromPartial({ resourceNames, typeUrl: SECRET_TYPE });
  const chainOf = (response: DiscoveryResponse): unknown => {
    const secret = Secret.decode(response.resources[0]?.value ?? new Uint8Array());
    return secret.type?.$case === 'tlsCertificate' ? secret.type.tlsCertificate.certificateChain?.specifier : secret.type;
  };

  it('answers when there is something to answer with, and pushes what changes', async () => {
    const stream = sotw();
    stream.send(ask('default'));
    holder.set({ identity: identity('first') });
    const first = await stream.next();
    holder.set({ rootsPem: 'unrelated' });
    holder.set({ identity: identity('second') });
    const second = await stream.next();
    expect(chainOf(first)).to.deep.equal({ $case: 'inlineString', inlineString: 'first' });
    expect(chainOf(second)).to.deep.equal({ $case: 'inlineString', inlineString: 'second' });
    expect(second.versionInfo).not.to.equal(first.versionInfo);
    expect([first.nonce, second.nonce]).to.deep.equal(['1', '2']);
  });

  it('gives the roots as validation context', async () => {
    holder.set({ rootsPem: 'roots' });
    const stream = sotw();
    stream.send(ask('ROOTCA'));
    const secret = Secret.decode((await stream.next()).resources[0]?.value ?? new Uint8Array());
    expect(secret).to.have.nested.property('type.validationContext.trustedCa.specifier.inlineString', 'roots');
  });

  it('does not answer what the proxy acknowledges or refuses, but says so', async () => {
    holder.set({ identity: identity('first') });
    const stream = sotw();
    stream.send(ask('default'));
    await stream.next();
    stream.send(DiscoveryRequest.fromPartial({ ...ask('default'), responseNonce: '1' }));
    stream.send(DiscoveryRequest.fromPartial({ ...ask('default'), responseNonce: '1', errorDetail: DETAIL }));
    holder.set({ rootsPem: 'roots' });
    stream.send(ask('ROOTCA', 'default'));
    const next = await stream.next();
    expect([next.nonce, next.resources.length]).to.deep.equal(['2', 2]);
    expect(logger.entries.map(printed)).to.include('error: the proxy refuses a secret');
  });

  it('gives the same content the same version on every stream', async () => {
    holder.set({ identity: identity('first') });
    const [one, two] = [sotw(), sotw()];
    one.send(ask('default'));
    two.send(ask('default'));
    expect((await one.next()).versionInfo).to.equal((await two.next()).versionInfo);
  });

  it('has no other secrets', async () => {
    const stream = sotw();
    stream.send(ask('kubernetes://other'));
    expect(await stream.failure()).to.contain('there is no secret "kubernetes://other"; the agent has default and ROOTCA');
  });

  it('has no other resources', async () => {
    const stream = sotw();
    stream.send(DiscoveryRequest.fromPartial({ typeUrl: 'type.googleapis.com/envoy.config.cluster.v3.Cluster' }));
    expect(await stream.failure()).to.contain('the agent serves secrets');
  });

  it('sends only what changed over delta, and nothing that a returning proxy has', async () => {
    holder.set({ identity: identity('first'), rootsPem: 'roots' });
    const stream = delta();
    stream.send(DeltaDiscoveryRequest.fromPartial({ typeUrl: SECRET_TYPE, resourceNamesSubscribe: ['default', 'ROOTCA'] }));
    const all = await stream.next();
    holder.set({ identity: identity('second') });
    const changed = await stream.next();
    const back = delta();
    const versions = Object.fromEntries([...all.resources, ...changed.resources].map(({ name, version }) => [name, version]));
    back.send(
      DeltaDiscoveryRequest.fromPartial({
        typeUrl: SECRET_TYPE,
        resourceNamesSubscribe: ['default', 'ROOTCA'],
        initialResourceVersions: versions,
      }),
    );
    holder.set({ rootsPem: 'new roots' });
    expect(all.resources.map(({ name }) => name)).to.deep.equal(['default', 'ROOTCA']);
    expect(changed.resources.map(({ name }) => name)).to.deep.equal(['default']);
    expect((await back.next()).resources.map(({ name }) => name)).to.deep.equal(['ROOTCA']);
  });
});

const printed = ({ level, message }: LogEntry): string => `${level}: ${message}`;
