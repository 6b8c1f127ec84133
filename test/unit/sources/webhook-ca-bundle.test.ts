import { expect } from 'chai';
import { namesFor } from '../../../src/lib/names.ts';
import { kindsFor } from '../../../src/model/kinds.ts';
import type { KubeObject } from '../../../src/model/object.ts';
import { MemoryStore } from '../../../src/sources/store/memory.ts';
import { keepCaBundle } from '../../../src/sources/webhook-ca-bundle.ts';
import { MemoryLogger } from '../../fakes/memory-logger.ts';

const kinds = kindsFor(namesFor('mesh.io'));
const base64 = (text: string): string => Buffer.from(text).toString('base64');

function configuration(...webhooks: readonly object[]): KubeObject {
  const { apiVersion, kind } = kinds.mutatingWebhookConfiguration;
  return { apiVersion, kind, metadata: { name: 'mesh-sidecar-injector' }, webhooks };
}

describe('the CA bundle of the webhook configuration', () => {
  let store: MemoryStore;
  let logger: MemoryLogger;
  let stop: AbortController;

  beforeEach(() => {
    let uid = 0;
    store = new MemoryStore({ kinds, now: () => new Date(), newUid: () => `uid-${uid++}` });
    logger = new MemoryLogger();
    stop = new AbortController();
  });
  afterEach(() => stop.abort());

  const keep = () =>
    keepCaBundle('roots', {
      store,
      kind: kinds.mutatingWebhookConfiguration,
      configuration: 'mesh-sidecar-injector',
      entry: 'sidecar-injector.mesh.io',
      logger,
      signal: stop.signal,
    });
  const stored = (): Promise<KubeObject> =>
    store.get({ kind: kinds.mutatingWebhookConfiguration, name: 'mesh-sidecar-injector' });

  /** Waits for the webhooks of the configuration to satisfy a condition. */
  async function until(holds: (webhooks: readonly Webhook[]) => boolean): Promise<readonly Webhook[]> {
    for (;;) {
      const webhooks = ((await stored())['webhooks'] ?? []) as readonly Webhook[];
      if (holds(webhooks)) return webhooks;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  interface Webhook {
    readonly name: string;
    readonly clientConfig: { readonly caBundle?: string; readonly service?: object };
  }
  const bundleOf = (webhooks: readonly Webhook[]): string | undefined =>
    webhooks.find(({ name }) => name === 'sidecar-injector.mesh.io')?.clientConfig.caBundle;

  it('is written into its entry and no other', async () => {
    const service = { name: 'mesh-sidecar-injector', namespace: 'mesh-system', path: '/inject' };
    await store.create(
      configuration({ name: 'other', clientConfig: {} }, { name: 'sidecar-injector.mesh.io', clientConfig: { service } }),
    );
    keep();
    const webhooks = await until((found) => bundleOf(found) === base64('roots'));
    expect(webhooks).to.deep.equal([
      { name: 'other', clientConfig: {} },
      { name: 'sidecar-injector.mesh.io', clientConfig: { service, caBundle: base64('roots') } },
    ]);
  });

  it('is written into entries below its name with it', async () => {
    const [entry, below] = ['sidecar-injector.mesh.io', 'control-plane.sidecar-injector.mesh.io'];
    await store.create(configuration(...[entry, below, `x${entry}`].map((name) => ({ name, clientConfig: {} }))));
    keep();
    const webhooks = await until((found) => bundleOf(found) === base64('roots'));
    const caBundle = base64('roots');
    expect(webhooks).to.deep.equal([
      { name: entry, clientConfig: { caBundle } },
      { name: below, clientConfig: { caBundle } },
      { name: `x${entry}`, clientConfig: {} },
    ]);
  });

  it('is written as soon as the configuration exists, and again when somebody changes it', async () => {
    keep();
    await store.create(configuration({ name: 'sidecar-injector.mesh.io', clientConfig: {} }));
    await until((found) => bundleOf(found) === base64('roots'));
    await store.replace(configuration({ name: 'sidecar-injector.mesh.io', clientConfig: { caBundle: base64('other') } }));
    await until((found) => bundleOf(found) === base64('roots'));
  });

  it('follows new roots', async () => {
    await store.create(configuration({ name: 'sidecar-injector.mesh.io', clientConfig: {} }));
    const keeper = keep();
    await until((found) => bundleOf(found) === base64('roots'));
    keeper.use('new roots');
    await until((found) => bundleOf(found) === base64('new roots'));
  });

  it('is tried again when it cannot be written', async () => {
    await store.create(configuration({ name: 'sidecar-injector.mesh.io', clientConfig: {} }));
    const replace = store.replace.bind(store);
    let failures = 1;
    store.replace = (object) => (failures-- > 0 ? Promise.reject(new Error('the server is down')) : replace(object));
    keep();
    await until((found) => bundleOf(found) === base64('roots'));
    expect(logger.text()).to.contain('the server is down');
  });

  it('says so when there is no such entry', async () => {
    await store.create(configuration({ name: 'other', clientConfig: {} }));
    keep();
    while (!logger.text().includes('has no such entry')) await new Promise((resolve) => setImmediate(resolve));
  });
});
