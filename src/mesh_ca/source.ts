/** Where the authority comes from, by configuration, and what keeps it up. */
import { randomBytes } from 'node:crypto';
import type { Host } from '../io/host.ts';
import type { Logger } from '../io/log/logger.ts';
import { kindsFor } from '../model/kinds.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import type { CaConfig } from './config.ts';
import { AuthorityHolder } from './live-authority.ts';
import { followPluggedIn } from './plugged-in.ts';
import { openSelfSigned } from './self-signed.ts';

const SERIAL_BYTES = 16;

let randomness = randomBytes(0);

/** 16 random bytes; drawn from the system for many at once, as each time costs more than the bytes. */
export function newSerial(): Uint8Array {
  if (randomness.length < SERIAL_BYTES) randomness = randomBytes(256 * SERIAL_BYTES);
  const serial = Uint8Array.from(randomness.subarray(0, SERIAL_BYTES));
  randomness = randomness.subarray(SERIAL_BYTES);
  return serial;
}

/** Rejects when there is no usable authority; what follows it ends with the signal. */
export async function openAuthority(
  { source, storageNamespace }: CaConfig,
  store: ObjectStore,
  { names, now }: Host,
  logger: Logger,
  signal: AbortSignal,
): Promise<AuthorityHolder> {
  if (source.type === 'plugged-in') return followPluggedIn({ files: source.files, now, logger, signal });
  const options = { ...source, store, kinds: kindsFor(names), names, namespace: storageNamespace, now, newSerial, logger };
  return new AuthorityHolder(await openSelfSigned(options));
}
