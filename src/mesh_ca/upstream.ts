/** An authority below another one: its signing certificate comes from there, is kept in a Secret, and renewed in time. */
import type { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Logger } from '../io/log/logger.ts';
import { describeCertificate } from '../io/x509/chain.ts';
import { generateKeyPair, type KeyPair, type KeyType, privateKeyPem } from '../io/x509/key.ts';
import type { Validity } from '../io/x509/template.ts';
import { type Duration, formatDuration, milliseconds, seconds } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import type { Authority } from './authority.ts';
import { AuthorityHolder } from './live-authority.ts';
import type { PemSecret } from './pem-secret.ts';
import { type GracePeriod, isRotationDue, untilRotation } from './rotation.ts';
import { addressText, type UpstreamConfig } from './upstream-client.ts';
import { entriesOf, formerIntermediates, formerPem, type Material, requireMaterial, requireUsable } from './upstream-material.ts';

export interface UpstreamOptions {
  readonly config: UpstreamConfig;
  readonly keyType: KeyType;
  readonly grace: GracePeriod;
  readonly secret: PemSecret;
  readonly trustDomain: () => string;
  /** Asks once; see requestSigningCertificate. */
  readonly request: (pair: KeyPair, rootPem: string, signal: AbortSignal) => Promise<readonly string[]>;
  readonly now: () => Date;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Rejects when the signal is aborted. */
  readonly sleep: (time: Duration, signal: AbortSignal) => Promise<void>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Between looks at the clock, the Secret and the roots. */
const LOOK: Duration = seconds(60);
const SHORTEST_PAUSE_MS = 1_000;
const FIRST_RETRY_MS = 500;
/** Without a certificate nobody is served, so the upstream is asked more often. */
const LONGEST_RETRY_WITHOUT_MS = 15_000;
const LONGEST_RETRY_MS = 300_000;

/**
 * Resolves with the first usable signing certificate, the kept one if it is still good, however long that takes; rejects when the
 * signal is aborted. From then on it is renewed within its grace period, and the last good one stays in force until the next.
 */
export async function followUpstream(options: UpstreamOptions): Promise<AuthorityHolder> {
  const kept = await loadKept(options);
  const holder = new AuthorityHolder(kept?.authority ?? (await obtain(options, undefined)), kept?.former);
  keepRenewed(holder, options).catch((thrown: unknown) => {
    if (options.signal.aborted) return;
    options.logger.error('the signing certificate is not renewed any more', { reason: MeshError.from(thrown).message });
  });
  return holder;
}

async function keepRenewed(holder: AuthorityHolder, options: UpstreamOptions): Promise<void> {
  for (;;) {
    await options.sleep(pause(holder.current(), options), options.signal);
    const kept = await loadKept(options);
    // Another replica renewed it, or the roots were exchanged.
    if (kept !== undefined && isNews(kept.authority, holder.current())) holder.replace(kept.authority);
    if (isDue(holder.current(), options)) holder.replace(await obtain(options, holder));
  }
}

/** Until the certificate is due, but never so short that an upstream which grants next to nothing is asked all the time. */
function pause({ certificate }: Authority, { grace, now }: UpstreamOptions): Duration {
  const remaining = certificate.validToDate.getTime() - now().getTime();
  const least = Math.max(SHORTEST_PAUSE_MS, remaining / 4);
  return milliseconds(Math.min(Math.max(untilRotation(validityOf(certificate), grace, now()), least), LOOK));
}

function isDue({ certificate }: Authority, { grace, now }: UpstreamOptions): boolean {
  return isRotationDue(validityOf(certificate), grace, now());
}

/** Its own alone: no renewal makes the certificates above it live longer. */
function validityOf({ validFromDate, validToDate }: Authority['certificate']): Validity {
  return { notBefore: validFromDate, notAfter: validToDate };
}

/** An older certificate is what could not be replaced in the store. */
function isNews(kept: Authority, present: Authority): boolean {
  if (kept.certificate.raw.equals(present.certificate.raw)) return kept.pems.roots !== present.pems.roots;
  return kept.certificate.validToDate > present.certificate.validToDate;
}

/** Asks until there is a certificate that can be used; `holder` has the one in force meanwhile. */
async function obtain(options: UpstreamOptions, holder: AuthorityHolder | undefined): Promise<Authority> {
  const present = holder?.current();
  const { logger, signal, config } = options;
  for (let failures = 0; ; ) {
    try {
      return await obtainOnce(options, holder);
    } catch (thrown) {
      signal.throwIfAborted();
      failures += 1;
      const wait = retryDelay(failures, present !== undefined, options.random());
      logger.error('no signing certificate from the upstream certificate authority', {
        upstream: addressText(config.address),
        reason: MeshError.from(thrown).message,
        ...(present === undefined
          ? { serving: 'nobody until there is one' }
          : { serving: `with the present certificate until ${present.validity.notAfter.toISOString()}` }),
        retryIn: formatDuration(wait),
      });
      await options.sleep(wait, signal);
    }
  }
}

/** Doubles with every failure, spread so that many do not come back at once. */
function retryDelay(failures: number, isServing: boolean, random: number): Duration {
  const longest = isServing ? LONGEST_RETRY_MS : LONGEST_RETRY_WITHOUT_MS;
  const delay = Math.min(FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 30), longest);
  return milliseconds(Math.round(delay * (0.5 + 0.5 * random)));
}

async function obtainOnce(options: UpstreamOptions, holder: AuthorityHolder | undefined): Promise<Authority> {
  const { secret, logger, signal } = options;
  const before = await secret.read();
  const rootPem = await readRoots(options);
  const pair = await generateKeyPair(options.keyType);
  const [signingCert = '', ...above] = await options.request(pair, rootPem, signal);
  const former = holder === undefined ? [] : [...holder.current().intermediates, ...holder.formerIntermediates()];
  const material: Material = {
    signingCert,
    signingKey: privateKeyPem(pair.privateKey),
    certChain: above.join(''),
    former: formerPem(former, options.now()),
  };
  const authority = requireUsable(material, rootPem, options.trustDomain(), options.now());
  logger.info('signing certificate obtained from the upstream certificate authority', {
    certificate: describeCertificate(authority.certificate),
    expires: authority.certificate.validToDate.toISOString(),
  });
  try {
    if (await secret.write(entriesOf(material), before)) return authority;
    logger.info('another replica kept its signing certificate first', { secret: secret.description });
    return (await loadKept(options))?.authority ?? authority;
  } catch (thrown) {
    // It can be asked for again, so a store that takes nothing is no reason to serve nobody.
    const fields = { reason: MeshError.from(thrown).message, after: holder === undefined ? 'start' : 'renewal' };
    logger.error('the signing certificate cannot be kept: it is asked for again after a restart', fields);
    return authority;
  }
}

interface Kept {
  readonly authority: Authority;
  readonly former: readonly X509Certificate[];
}

/** The kept certificate, if there is one that can be used now. */
async function loadKept(options: UpstreamOptions): Promise<Kept | undefined> {
  const { logger, secret } = options;
  try {
    const stored = await secret.read();
    if (stored === undefined) return undefined;
    const material = requireMaterial(stored);
    const authority = requireUsable(material, await readRoots(options), options.trustDomain(), options.now());
    return { authority, former: formerIntermediates(material) };
  } catch (thrown) {
    const fields = { secret: secret.description, reason: MeshError.from(thrown).message };
    logger.warn('the kept signing certificate cannot be used', fields);
    return undefined;
  }
}

async function readRoots({ config }: UpstreamOptions): Promise<string> {
  try {
    return await readFile(config.rootFile, 'utf8');
  } catch (thrown) {
    throw new MeshError('failed_precondition', `--root-cert cannot be read: ${MeshError.from(thrown).message}`, thrown);
  }
}
