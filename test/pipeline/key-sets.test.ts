/** New policies and the keys they need, from a store to published snapshots; the keys come from a real HTTP server. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { seconds } from '../../src/lib/duration.ts';
import { namesFor } from '../../src/lib/names.ts';
import { kindsFor } from '../../src/model/kinds.ts';
import type { KubeObject } from '../../src/model/object.ts';
import type { Snapshot } from '../../src/model/snapshot.ts';
import { createPipeline } from '../../src/pilot-discovery/pipeline.ts';
import { Publisher } from '../../src/pilot-discovery/publisher.ts';
import { MemoryStore } from '../../src/sources/store/memory.ts';
import { MemoryLogger } from '../fakes/memory-logger.ts';
import { jwksOf, tokenKey } from '../harness/tokens.ts';

const names = namesFor('mesh.io');

describe('key sets of new policies', () => {
  let server: Server;
  let asked: PromiseWithResolvers<ServerResponse>;
  let stop: AbortController;
  let store: MemoryStore;
  let published: Snapshot[];
  let nextPublished: PromiseWithResolvers<void>;
  let cache: string;

  beforeEach(async () => {
    asked = Promise.withResolvers();
    server = createServer((_, response) => asked.resolve(response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    stop = new AbortController();
    let uid = 0;
    store = new MemoryStore({ kinds: kindsFor(names), now: () => new Date(), newUid: () => `uid-${uid++}` });
    published = [];
    nextPublished = Promise.withResolvers();
    cache = mkdtempSync(join(tmpdir(), 'mesh-key-sets-'));
    await startPipeline();
  });

  /** As a server does that is started anew. */
  async function startPipeline(): Promise<void> {
    const publisher = new Publisher({
      resources: (_snapshot, _node, typeUrl) => ({ typeUrl, version: '', resources: new Map() }),
    });
    publisher.onChange(() => {
      if (publisher.snapshot !== undefined) published.push(publisher.snapshot);
      nextPublished.resolve();
      nextPublished = Promise.withResolvers();
    });
    const pipeline = await createPipeline({
      config: {
        namespace: 'mesh-system',
        appNamespace: undefined,
        meshConfigFile: undefined,
        domain: 'cluster.local',
        clusterRegistries: undefined,
        resync: seconds(60),
      },
      env: { CACHE_DIRECTORY: cache },
      now: () => new Date(),
      registryStore: store,
      configStore: store,
      names,
      publisher,
      onPublish: () => {},
      onKeySetFetch: () => {},
      logger: new MemoryLogger(),
      signal: stop.signal,
    });
    await pipeline.start();
  }

  afterEach(() => {
    stop.abort();
    server.closeAllConnections();
    server.close();
    rmSync(cache, { recursive: true, force: true });
  });

  const jwtPolicy = (): KubeObject => {
    const { port } = server.address() as AddressInfo;
    const jwt = { issuer: 'https://issuer.test', jwksUri: `http://127.0.0.1:${port}/keys` };
    return {
      apiVersion: 'authentication.mesh.io/v1alpha1',
      kind: 'Policy',
      metadata: { name: 'jwt', namespace: 'foo' },
      spec: { origins: [{ jwt }] },
    };
  };

  it('come into force with the policy, when they take longer than changes are folded', async () => {
    await store.create(jwtPolicy());
    const response = await asked.promise;
    const before = published.length;
    // Longer than the quiet time of the debouncer: without the waiting, the policy would be published here, closed.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(published.length, 'held back').to.equal(before);
    const next = nextPublished.promise;
    response.end(jwksOf(tokenKey('k1')));
    await next;
    const snapshot = published.at(-1);
    expect(snapshot?.inputs.policies).to.have.length(1);
    expect(snapshot?.inputs.jwks.size).to.equal(1);
  });

  it('are known after a restart while their server cannot be reached', async () => {
    await store.create(jwtPolicy());
    (await asked.promise).end(jwksOf(tokenKey('k1')));
    while (!existsSync(join(cache, 'key-sets.json'))) await new Promise((resolve) => setTimeout(resolve, 10));
    stop.abort();
    stop = new AbortController();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    published = [];
    await startPipeline();
    expect([...(published.at(-1)?.inputs.jwks.values() ?? [])].join()).to.include('"kid":"k1"');
  });

  it('do not hold the policy back when they cannot be had', async () => {
    const next = nextPublished.promise;
    await store.create(jwtPolicy());
    (await asked.promise).writeHead(503).end();
    await next;
    expect(published.at(-1)?.inputs.policies).to.have.length(1);
    expect(published.at(-1)?.inputs.jwks.size).to.equal(0);
  });

  it('do not hold the policy back for long when the server does not answer', async () => {
    const next = nextPublished.promise;
    await store.create(jwtPolicy());
    await asked.promise;
    await next;
    expect(published.at(-1)?.inputs.policies).to.have.length(1);
    expect(published.at(-1)?.inputs.jwks.size).to.equal(0);
  });
});
