/** The certificates that objects hold, read: keys are never looked at. */
import type { X509Certificate } from 'node:crypto';
import { parseCertificateChain } from '../../../io/x509/chain.ts';
import { formatProblem, type Parsed } from '../../../lib/errors.ts';
import type { Names } from '../../../lib/names.ts';
import type { KubeObject } from '../../../model/object.ts';
import { isMapping } from '../../../model/parse/object.ts';
import { dataOf, type MeshState } from '../mesh-state.ts';

/** The secret of the authority's own certificate and key. */
export const CA_SECRET = 'mesh-ca-secret';
/** The ConfigMap of the roots that a namespace's workloads trust, and its key. */
export const ROOT_CONFIG_MAP = { name: 'mesh-ca-root-cert', key: 'root-cert.pem' } as const;
/** Entries of a workload's secret. */
export const CHAIN_ENTRY = 'cert-chain.pem';
export const ROOT_ENTRY = 'root-cert.pem';

export type CertificateUse =
  /** Signs: the first certificate is the one that must be valid. */
  | 'authority'
  /** Of a workload, renewed long before it expires. */
  | 'workload'
  /** Trusted: it is enough that one of them is valid, for others may be on their way in or out. */
  | 'roots';

/** Certificates of one entry of an object. */
export interface HeldCertificates {
  readonly object: KubeObject;
  /** The key of the entry, or what else they are called. */
  readonly entry: string;
  /** JSON path of the entry. */
  readonly path: string;
  readonly use: CertificateUse;
  readonly certificates: Parsed<readonly X509Certificate[]>;
}

/** All certificates of the objects, in the order of the objects. */
export function heldCertificates({ objects, names, rootNamespace }: MeshState): readonly HeldCertificates[] {
  const ofSecrets = objects.secret.flatMap((secret) => {
    const { name, namespace } = secret.metadata;
    if (name === CA_SECRET && namespace === rootNamespace) return [secretEntry(secret, 'ca-cert.pem', 'authority')];
    if (secret.type !== names.keyAndCertType) return [];
    return [secretEntry(secret, CHAIN_ENTRY, 'workload'), secretEntry(secret, ROOT_ENTRY, 'roots')];
  });
  const ofMaps = objects.configMap
    .filter(({ metadata }) => metadata.name === ROOT_CONFIG_MAP.name)
    .map((map) => held(map, ROOT_CONFIG_MAP.key, 'roots', dataOf(map)[ROOT_CONFIG_MAP.key] ?? ''));
  const configurations = [...objects.mutatingWebhookConfiguration, ...objects.validatingWebhookConfiguration];
  return [...ofSecrets, ...ofMaps, ...configurations.flatMap((object) => bundlesOf(object, names))];
}

function secretEntry(secret: KubeObject, entry: string, use: CertificateUse): HeldCertificates {
  return held(secret, entry, use, decode(dataOf(secret)[entry]));
}

function held(object: KubeObject, entry: string, use: CertificateUse, pem: string): HeldCertificates {
  return { object, entry, path: `data["${entry}"]`, use, certificates: parseCertificates(pem) };
}

/** The CA bundles of our webhooks; an empty one is another matter. */
function bundlesOf(
  object: KubeObject,
  { webhookName, ownWebhookName, validationWebhookName }: Names,
): readonly HeldCertificates[] {
  const webhooks = Array.isArray(object.webhooks) ? (object.webhooks as readonly unknown[]) : [];
  return webhooks.flatMap((webhook, index): readonly HeldCertificates[] => {
    const isOurs =
      isMapping(webhook) && [webhookName, ownWebhookName, validationWebhookName].some((name) => name === webhook.name);
    const config = isOurs ? webhook.clientConfig : undefined;
    const bundle = isMapping(config) ? config.caBundle : undefined;
    if (typeof bundle !== 'string' || bundle === '') return [];
    const path = `webhooks[${index}].clientConfig.caBundle`;
    return [{ object, entry: 'caBundle', path, use: 'roots', certificates: parseCertificates(decode(bundle)) }];
  });
}

export function decode(base64: string | undefined): string {
  return Buffer.from(base64 ?? '', 'base64').toString('utf8');
}

/** At least one certificate, or what is wrong. */
export function parseCertificates(pem: string): Parsed<readonly X509Certificate[]> {
  return pem === '' ? { ok: false, problems: [{ path: '', message: 'there is none' }] } : parseCertificateChain(pem);
}

/** The authority's own secret, where its certificates are; undefined while it is not known. */
export function authoritySecret({ objects, rootNamespace }: MeshState): KubeObject | undefined {
  return objects.secret.find(({ metadata }) => metadata.name === CA_SECRET && metadata.namespace === rootNamespace);
}

/** The roots that mesh_ca signs below now; undefined while they are not known. */
export function currentRoots(state: MeshState): readonly X509Certificate[] | undefined {
  const secret = authoritySecret(state);
  if (secret === undefined) return undefined;
  const data = dataOf(secret);
  const entries = ['ca-cert.pem', 'next-ca-cert.pem', 'previous-ca-cert.pem', CHAIN_ENTRY, ROOT_ENTRY];
  const found = entries.flatMap((entry) => {
    const parsed = parseCertificates(decode(data[entry]));
    return parsed.ok ? parsed.value : [];
  });
  return found.length === 0 ? undefined : found;
}

/**
 * The roots that workloads trust now: those of the authority, and what else it has published where it is itself, such as roots that
 * it was given as files. Undefined while none is known.
 */
export function trustedRoots(state: MeshState): readonly X509Certificate[] | undefined {
  const published = state.objects.configMap
    .filter(({ metadata }) => metadata.name === ROOT_CONFIG_MAP.name && metadata.namespace === state.rootNamespace)
    .flatMap((map) => {
      const parsed = parseCertificates(dataOf(map)[ROOT_CONFIG_MAP.key] ?? '');
      return parsed.ok ? parsed.value : [];
    });
  const roots = [...(currentRoots(state) ?? []), ...published];
  return roots.length === 0 ? undefined : roots;
}

export function problemsText(parsed: Extract<Parsed<unknown>, { ok: false }>): string {
  return parsed.problems.map(formatProblem).join('; ');
}
