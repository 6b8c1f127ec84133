/** A signing certificate of an upstream authority, its key and its chain: as they are kept, and what makes them fit for use. */
import type { X509Certificate } from 'node:crypto';
import { describeCertificate, parseCertificateChain, permitsUriHost } from '../io/x509/chain.ts';
import { encodePem } from '../io/x509/pem.ts';
import { formatProblem, MeshError } from '../lib/errors.ts';
import { Redacted } from '../lib/redacted.ts';
import { type Authority, parseAuthority } from './authority.ts';
import type { PemEntries, StoredPems } from './pem-secret.ts';

const SIGNING_CERT = 'ca-cert.pem';
const SIGNING_KEY = 'ca-key.pem';
const CHAIN = 'cert-chain.pem';
const FORMER = 'former-certs.pem';

/** PEM texts. */
export interface Material {
  readonly signingCert: string;
  readonly signingKey: Redacted;
  /** What stands above the signing certificate. */
  readonly certChain: string;
  /** Intermediates of before, so that what they signed is known after a restart too. */
  readonly former: string;
}

export function entriesOf({ signingCert, signingKey, certChain, former }: Material): PemEntries {
  return {
    [SIGNING_CERT]: new Redacted(signingCert),
    [SIGNING_KEY]: signingKey,
    [CHAIN]: new Redacted(certChain),
    ...(former === '' ? {} : { [FORMER]: new Redacted(former) }),
  };
}

/** Throws `failed_precondition` for a Secret without a certificate or its key. */
export function requireMaterial(stored: StoredPems): Material {
  const [signingCert, signingKey, chain, former] = [SIGNING_CERT, SIGNING_KEY, CHAIN, FORMER].map((key) => stored.entry(key));
  if (signingCert === undefined || signingKey === undefined) {
    throw new MeshError('failed_precondition', `it lacks ${SIGNING_CERT} or ${SIGNING_KEY}`);
  }
  return { signingCert: signingCert.reveal(), signingKey, certChain: chain?.reveal() ?? '', former: former?.reveal() ?? '' };
}

/** PEM of intermediates that have not expired, each once. */
export function formerPem(intermediates: readonly X509Certificate[], now: Date): string {
  const inForce = intermediates.filter(({ validToDate }) => validToDate > now);
  return [...new Set(inForce.map(({ raw }) => encodePem('CERTIFICATE', raw)))].join('');
}

/** None where there is nothing, or nothing that can be read: then their certificates are refused, and tokens are needed. */
export function formerIntermediates({ former }: Material): readonly X509Certificate[] {
  const parsed = parseCertificateChain(former);
  return parsed.ok ? parsed.value : [];
}

/**
 * The authority that a signing certificate makes, below roots that were given beforehand and for names of the trust domain. Throws
 * `failed_precondition` with everything that keeps it from being used: nothing unverified ever signs.
 */
export function requireUsable(material: Material, rootCert: string, trustDomain: string, now: Date): Authority {
  const parsed = parseAuthority({ ...material, rootCert }, now);
  if (!parsed.ok) {
    const problems = parsed.problems.map(({ path, message }) => formatProblem({ path: nameOf(path), message }));
    throw new MeshError('failed_precondition', `the signing certificate must not be used: ${problems.join('; ')}`);
  }
  const { certificate, intermediates, roots } = parsed.value;
  const strict = [certificate, ...intermediates, ...roots].find((above) => !permitsUriHost(above, trustDomain));
  if (strict === undefined) return parsed.value;
  const reason = `${describeCertificate(strict)} allows no names of the trust domain ${trustDomain}`;
  throw new MeshError('failed_precondition', `the signing certificate must not be used: ${reason}`);
}

const PARTS: Readonly<Record<string, string>> = {
  signingCert: 'certificate',
  signingKey: 'the key made for it',
  certChain: 'chain',
  rootCert: '--root-cert',
};

function nameOf(path: string): string {
  const part = Object.keys(PARTS).find((candidate) => path.startsWith(candidate));
  return part === undefined ? path : (PARTS[part] ?? path);
}
