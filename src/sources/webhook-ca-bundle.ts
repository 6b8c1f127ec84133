/** Tells the API server which roots to check a webhook of ours against, and keeps it told. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../io/log/logger.ts';
import { MeshError } from '../lib/errors.ts';
import type { KubeObject, ResourceKind } from '../model/object.ts';
import { type Fields, isMapping } from '../model/parse/object.ts';
import type { ObjectStore } from './store/object-store.ts';

export interface CaBundleOptions {
  readonly store: ObjectStore;
  /** MutatingWebhookConfiguration or ValidatingWebhookConfiguration. */
  readonly kind: ResourceKind;
  /** Name of the configuration. */
  readonly configuration: string;
  /** Name of the entry in it; those below its name (`other.entry`) are kept right with it. */
  readonly entry: string;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface CaBundleKeeper {
  /** These roots (PEM) are in force from now on. */
  use(rootsPem: string): void;
  /** Resolves when the signal has ended it. */
  readonly done: Promise<void>;
}

/** Between attempts while the API server does not take the change, doubling; each is spread by a random half. */
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 30_000;

/** Writes the roots into the entry whenever they, or what is there, change: what another hand changed is changed back. */
export function keepCaBundle(rootsPem: string, options: CaBundleOptions): CaBundleKeeper {
  const { store, kind, configuration, entry, logger, signal } = options;
  let roots = rootsPem;
  let latest: KubeObject | undefined;
  let failures = 0;
  let said = '';

  const say = (level: 'warn' | 'error', message: string, fields: Fields = {}): void => {
    if (message === said) return;
    said = message;
    logger[level](message, { configuration, webhook: entry, ...fields });
  };

  async function bring(): Promise<void> {
    if (latest === undefined) {
      say('warn', 'there is no such webhook configuration; the CA bundle is written once it exists');
      return;
    }
    const next = withCaBundle(latest, entry, roots);
    if (next === 'no-entry') say('error', 'the webhook configuration has no such entry, so the webhook is never asked');
    else if (next !== 'current') {
      latest = await store.replace(next);
      said = '';
      logger.info('CA bundle written into the webhook configuration', { configuration, webhook: entry });
    }
  }

  async function attempt(): Promise<void> {
    try {
      await bring();
      failures = 0;
    } catch (thrown) {
      if (signal.aborted) return;
      const error = MeshError.from(thrown);
      // Somebody changed it meanwhile: the watch is about to tell, and it is tried again then.
      if (error.code !== 'conflict') say('warn', 'the CA bundle cannot be written; trying again', { reason: error.message });
      const delay = Math.min(FIRST_RETRY_MS * 2 ** failures++, LONGEST_RETRY_MS) * (0.5 + Math.random() / 2);
      // Not awaited: what the watch tells meanwhile is acted on at once.
      sleep(delay, undefined, { signal, ref: false }).then(run, () => {});
    }
  }

  let running = Promise.resolve();
  function run(): void {
    running = running.then(() => (signal.aborted ? undefined : attempt()));
  }

  async function follow(): Promise<void> {
    const named = (object: KubeObject): boolean => object.metadata.name === configuration;
    for await (const event of store.watch(kind, { signal, fieldSelector: `metadata.name=${configuration}` })) {
      if (event.type === 'listed') latest = event.objects.find(named);
      else if (!named(event.object)) continue;
      else latest = event.type === 'deleted' ? undefined : event.object;
      run();
    }
  }

  const done = follow().catch((thrown: unknown) => {
    if (!signal.aborted) logger.error('the webhook configuration cannot be followed', { error: MeshError.from(thrown).message });
  });
  return {
    use(pem) {
      roots = pem;
      run();
    },
    done,
  };
}

/** The configuration with the roots in the entry and those below its name; or that it has them already, or has no such entry. */
export function withCaBundle(object: KubeObject, entry: string, rootsPem: string): KubeObject | 'current' | 'no-entry' {
  const webhooks = Array.isArray(object['webhooks']) ? (object['webhooks'] as readonly unknown[]) : [];
  const caBundle = Buffer.from(rootsPem).toString('base64');
  const isMeant = (webhook: unknown): webhook is Fields => isMapping(webhook) && isEntry(webhook['name'], entry);
  const found = webhooks.filter(isMeant);
  if (found.every((webhook) => webhook['name'] !== entry)) return 'no-entry';
  if (found.every((webhook) => clientConfigOf(webhook)['caBundle'] === caBundle)) return 'current';
  const replaced = webhooks.map((webhook) =>
    isMeant(webhook) ? { ...webhook, clientConfig: { ...clientConfigOf(webhook), caBundle } } : webhook,
  );
  return { ...object, webhooks: replaced };
}

function isEntry(name: unknown, entry: string): boolean {
  return typeof name === 'string' && (name === entry || name.endsWith(`.${entry}`));
}

function clientConfigOf(webhook: Fields): Fields {
  return isMapping(webhook['clientConfig']) ? webhook['clientConfig'] : {};
}
