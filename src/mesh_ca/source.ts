/** Where the authority comes from, by configuration, and what keeps it up. */
import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Host } from '../io/host.ts';
import type { Logger } from '../io/log/logger.ts';
import { type Duration, milliseconds } from '../lib/duration.ts';
import { kindsFor } from '../model/kinds.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import type { CaConfig } from './config.ts';
import { followEach } from './follow-each.ts';
import type { Leadership } from './leadership.ts';
import type { AuthorityHolder } from './live-authority.ts';
import { oneAtATime } from './one-at-a-time.ts';
import { PemSecret } from './pem-secret.ts';
import { followPluggedIn } from './plugged-in.ts';
import { openSelfSigned, type SelfSigned, type SelfSignedOptions } from './self-signed.ts';
import type { Missing } from './spread.ts';
import { followUpstream } from './upstream.ts';
import { requestSigningCertificate } from './upstream-client.ts';

const SERIAL_BYTES = 16;
const ROOT_SECRET = 'mesh-ca-secret';
/** Not the root's, so that a root of before is never lost to a certificate that can be asked for again. */
const UPSTREAM_SECRET = 'mesh-ca-intermediate-secret';

let randomness = randomBytes(0);

/** 16 random bytes; drawn from the system for many at once, as each time costs more than the bytes. */
export function newSerial(): Uint8Array {
  if (randomness.length < SERIAL_BYTES) randomness = randomBytes(256 * SERIAL_BYTES);
  const serial = Uint8Array.from(randomness.subarray(0, SERIAL_BYTES));
  randomness = randomness.subarray(SERIAL_BYTES);
  return serial;
}

export interface SourceOptions {
  readonly config: CaConfig;
  readonly store: ObjectStore;
  readonly host: Host;
  readonly trustDomain: () => string;
  readonly leadership: Leadership;
  /** Who has not been given the roots that are trusted now. */
  readonly missing: Missing;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface OpenedAuthority {
  readonly authority: AuthorityHolder;
  /** What is to be done from time to time; never rejects. */
  keepUp(): Promise<void>;
}

/** Rejects when there is no usable authority, or the signal is aborted while one is waited for; what follows it ends with the signal. */
export async function openAuthority(options: SourceOptions): Promise<OpenedAuthority> {
  const { config, store, host, logger, signal } = options;
  const { source, storageNamespace: namespace } = config;
  const { names, now } = host;
  const kinds = kindsFor(names);
  switch (source.type) {
    case 'plugged-in':
      return { authority: await followPluggedIn({ files: source.files, now, logger, signal }), keepUp: async () => {} };
    case 'upstream': {
      const authority = await followUpstream({
        config: source.upstream,
        keyType: source.keyType,
        grace: config.grace,
        secret: new PemSecret({ store, kinds, namespace, name: UPSTREAM_SECRET, type: `${names.domain}/ca-intermediate` }),
        request: (pair, rootPem, abort) => requestSigningCertificate(source.upstream, pair, rootPem, abort),
        sleep,
        random: Math.random,
        trustDomain: options.trustDomain,
        now,
        logger,
        signal,
      });
      return { authority, keepUp: async () => {} };
    }
    case 'self-signed':
      return openFollowed(options, {
        spec: source,
        grace: config.grace,
        secret: new PemSecret({ store, kinds, namespace, name: ROOT_SECRET, type: `${names.domain}/ca-root` }),
        leadership: options.leadership,
        missing: options.missing,
        uptime: () => milliseconds(performance.now()),
        now,
        newSerial,
        sleep,
        logger,
        signal,
      });
  }
}

/** What another replica stores is taken over at once. */
async function openFollowed({ store, host, config, leadership }: SourceOptions, options: SelfSignedOptions): Promise<SelfSigned> {
  const { logger, signal } = options;
  const root = await openSelfSigned(options);
  const upkeep = oneAtATime(() => root.keepUp());
  followEach<string>({
    store,
    kind: kindsFor(host.names).secret,
    watch: { signal, namespace: config.storageNamespace, fieldSelector: `metadata.name=${ROOT_SECRET}` },
    keyOf: ({ metadata }) => metadata.name,
    parse: ({ metadata }) => (metadata.name === ROOT_SECRET ? metadata.name : undefined),
    onChange: () => void upkeep(),
    logger,
  });
  leadership.onTerm(() => void upkeep());
  return { ...root, keepUp: upkeep };
}

function sleep(time: Duration, signal: AbortSignal): Promise<void> {
  return setTimeout(time, undefined, { signal });
}
