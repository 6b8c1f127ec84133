/** The Secret that holds the key and certificate of one service account: what stands in it, and whether that is as it should be. Pure. */
import { createPrivateKey, type X509Certificate } from 'node:crypto';
import { readDetails } from '../io/x509/certificate-details.ts';
import { checkChain, parseCertificateChain, spiffeIdOf } from '../io/x509/chain.ts';
import { formatProblem } from '../lib/errors.ts';
import type { Redacted } from '../lib/redacted.ts';
import { formatSpiffeId, type SpiffeId } from '../lib/spiffe.ts';
import type { Kinds } from '../model/kinds.ts';
import type { KubeObject } from '../model/object.ts';
import { type GracePeriod, untilRotation } from './rotation.ts';

const CHAIN = 'cert-chain.pem';
const KEY = 'key.pem';
const ROOT = 'root-cert.pem';
const PREFIX = 'mesh.';

/** A service account, as far as its Secret needs it. */
export interface AccountRef {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export function secretNameOf(account: string): string {
  return `${PREFIX}${account}`;
}

/** The account that a Secret's name speaks of; undefined for another name. */
export function accountNameOf(secret: string): string | undefined {
  return secret.startsWith(PREFIX) && secret.length > PREFIX.length ? secret.slice(PREFIX.length) : undefined;
}

/** What is kept in memory of a Secret: no private key. */
export interface StoredIdentity {
  readonly type: unknown;
  /** Of the account that it goes with. */
  readonly ownerUid: string | undefined;
  readonly chainPem: string;
  readonly rootPem: string;
  /** The key is that of the first certificate. */
  readonly keyFits: boolean;
}

export function readIdentity(secret: KubeObject): StoredIdentity {
  const entry = entriesOf(secret);
  const chainPem = entry(CHAIN);
  const owner = secret.metadata.ownerReferences?.find(({ kind }) => kind === 'ServiceAccount');
  return {
    type: secret['type'],
    ownerUid: owner?.uid,
    chainPem,
    rootPem: entry(ROOT),
    keyFits: isKeyOf(entry(KEY), chainPem),
  };
}

function entriesOf(secret: KubeObject): (key: string) => string {
  const { data } = secret;
  const fields = typeof data === 'object' && data !== null ? (data as Readonly<Record<string, unknown>>) : {};
  return (key) => {
    const value = fields[key];
    return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : '';
  };
}

function isKeyOf(keyPem: string, chainPem: string): boolean {
  const chain = parseCertificateChain(chainPem);
  const [leaf] = chain.ok ? chain.value : [];
  if (leaf === undefined) return false;
  try {
    return leaf.checkPrivateKey(createPrivateKey(keyPem));
  } catch {
    return false;
  }
}

/** What a Secret is measured by. */
export interface Expected {
  readonly identity: SpiffeId;
  readonly ownerUid: string;
  /** DNS names that the certificate must have, beside others maybe. */
  readonly dnsNames: readonly string[];
  readonly rootPem: string;
  readonly roots: readonly X509Certificate[];
  /** No certificate that is issued now lives longer. */
  readonly latestEnd: Date;
  readonly grace: GracePeriod;
  readonly now: Date;
}

export type Verdict =
  /** Nothing is to be done before that time. */
  | { readonly type: 'good'; readonly until: Date }
  /** Key and certificate are good; what stands around them is not: the roots, or whom the Secret belongs to. */
  | { readonly type: 'refresh'; readonly reason: string }
  | { readonly type: 'reissue'; readonly reason: string };

/** What is to be done with a Secret of our type. */
export function assess(stored: StoredIdentity, expected: Expected): Verdict {
  const checked = checkCertificate(stored, expected);
  if (checked.type === 'reissue') return checked;
  if (stored.rootPem !== expected.rootPem)
    return { type: 'refresh', reason: 'it holds other roots than those that are trusted now' };
  if (stored.ownerUid !== expected.ownerUid) return { type: 'refresh', reason: 'it does not belong to the service account' };
  return checked;
}

function checkCertificate({ chainPem, keyFits }: StoredIdentity, expected: Expected): Exclude<Verdict, { type: 'refresh' }> {
  const { roots, grace, now, latestEnd } = expected;
  const chain = parseCertificateChain(chainPem);
  if (!chain.ok) return reissue(`${CHAIN}: ${chain.problems.map(formatProblem).join('; ')}`);
  const [leaf, ...intermediates] = chain.value;
  if (leaf === undefined) return reissue(`${CHAIN} holds no certificate`);
  if (!keyFits) return reissue(`${KEY} is not the key of the certificate`);
  const [broken] = checkChain({ leaf, intermediates, roots }, now);
  const problem = broken?.message ?? nameProblem(leaf, expected);
  if (problem !== undefined) return reissue(problem);
  const { validFromDate: notBefore, validToDate: notAfter } = leaf;
  // A new one would end just as early; soon a successor of the root will sign.
  if (notAfter >= latestEnd) return { type: 'good', until: notAfter };
  const remaining = untilRotation({ notBefore, notAfter }, grace, now);
  if (remaining < 0) return reissue(`its grace period has begun, it expires at ${notAfter.toISOString()}`);
  return { type: 'good', until: new Date(now.getTime() + remaining) };
}

function reissue(reason: string): { readonly type: 'reissue'; readonly reason: string } {
  return { type: 'reissue', reason };
}

function nameProblem(leaf: X509Certificate, { identity, dnsNames }: Expected): string | undefined {
  if (leaf.ca) return 'the certificate is that of a certificate authority';
  const named = spiffeIdOf(leaf);
  if (!named.ok) return named.problems.map(formatProblem).join('; ');
  const wanted = formatSpiffeId(identity);
  if (formatSpiffeId(named.value) !== wanted) return `the certificate names ${formatSpiffeId(named.value)}, not ${wanted}`;
  const details = readDetails(leaf);
  const names = details.ok ? details.value.altNames.filter(({ type }) => type === 'dns').map(({ value }) => value) : [];
  const missing = dnsNames.find((name) => !names.includes(name));
  return missing === undefined ? undefined : `the certificate lacks the DNS name ${missing}`;
}

/** PEM texts of a key and its certificate. */
export interface IssuedIdentity {
  readonly keyPem: Redacted;
  readonly chainPem: string;
}

/** The Secret with a new key and certificate, in place of what was there before. */
export function secretWith(
  kinds: Kinds,
  type: string,
  account: AccountRef,
  { keyPem, chainPem }: IssuedIdentity,
  rootPem: string,
  before: KubeObject | undefined,
): KubeObject {
  const data = { [CHAIN]: base64(chainPem), [KEY]: base64(keyPem.reveal()), [ROOT]: base64(rootPem) };
  return { ...bareSecret(kinds, account, before), type, data };
}

/** The same Secret with the roots that are trusted now; key and certificate stay. */
export function secretRefreshed(kinds: Kinds, account: AccountRef, before: KubeObject, rootPem: string): KubeObject {
  const { data } = before;
  const kept = typeof data === 'object' && data !== null ? data : {};
  return { ...bareSecret(kinds, account, before), type: before['type'], data: { ...kept, [ROOT]: base64(rootPem) } };
}

/** Owned by the account, so that Kubernetes removes it with that. */
function bareSecret(kinds: Kinds, { namespace, name, uid }: AccountRef, before: KubeObject | undefined): KubeObject {
  const { apiVersion, kind } = kinds.serviceAccount;
  const others = before?.metadata.ownerReferences?.filter((owner) => owner.kind !== kind) ?? [];
  const ownerReferences = [...others, { apiVersion, kind, name, uid }];
  return {
    apiVersion: kinds.secret.apiVersion,
    kind: kinds.secret.kind,
    metadata: { ...before?.metadata, name: secretNameOf(name), namespace, ownerReferences },
  };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
