/** The self-signed root: kept in a Secret, made once, and never replaced while it is valid. */
import { X509Certificate } from 'node:crypto';
import type { Logger } from '../io/log/logger.ts';
import { signRoot } from '../io/x509/certificate.ts';
import { parseCertificateChain } from '../io/x509/chain.ts';
import { generateKeyPair, type KeyType, privateKeyPem } from '../io/x509/key.ts';
import { encodePem } from '../io/x509/pem.ts';
import { validityFrom } from '../io/x509/template.ts';
import type { Duration } from '../lib/duration.ts';
import { formatProblem, MeshError } from '../lib/errors.ts';
import type { Names } from '../lib/names.ts';
import { Redacted } from '../lib/redacted.ts';
import type { Kinds } from '../model/kinds.ts';
import { describeRef, type KubeObject, type ObjectRef } from '../model/object.ts';
import type { ObjectStore } from '../sources/store/object-store.ts';
import { type Authority, parseAuthority } from './authority.ts';

export interface SelfSignedOptions {
  readonly store: ObjectStore;
  readonly kinds: Kinds;
  readonly names: Names;
  readonly namespace: string;
  readonly keyType: KeyType;
  readonly ttl: Duration;
  readonly organization: string;
  readonly now: () => Date;
  /** 16 random bytes. */
  readonly newSerial: () => Uint8Array;
  readonly logger: Logger;
}

const SECRET_NAME = 'mesh-ca-secret';
const CERT_KEY = 'ca-cert.pem';
const PRIVATE_KEY_KEY = 'ca-key.pem';
/** Replicas that start together meet at most once or twice. */
const MAX_ATTEMPTS = 5;

interface RootPems {
  readonly cert: string;
  readonly key: Redacted;
}

/**
 * The authority of the Secret `mesh-ca-secret`; where there is none, or it has expired, a new root is made and stored first.
 * Of several replicas one stores its root and the others take it. Rejects when the store cannot be read or the Secret is
 * damaged: a second root would part the mesh.
 */
export async function openSelfSigned(options: SelfSignedOptions): Promise<Authority> {
  const { store, kinds, logger, now } = options;
  const ref: ObjectRef = { kind: kinds.secret, namespace: options.namespace, name: SECRET_NAME };
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const stored = await readSecret(store, ref);
    if (stored !== undefined) {
      const pems = requirePems(stored, ref);
      if (!isExpired(pems, ref, now())) {
        logger.info('root certificate loaded', { secret: describeRef(ref) });
        return requireAuthority(pems, ref, now());
      }
      logger.error('the root certificate has expired and is replaced: workloads must load the new one', {
        secret: describeRef(ref),
      });
    }
    const made = await makeRoot(options);
    const secret = secretOf(made, options, stored);
    if (await wins(() => (stored === undefined ? store.create(secret) : store.replace(secret)))) {
      logger.info('root certificate made', { secret: describeRef(ref) });
      return requireAuthority(made, ref, now());
    }
    logger.info('another replica stored its root certificate first', { secret: describeRef(ref) });
  }
  throw new MeshError('unavailable', `${describeRef(ref)} changes again and again while it is read`);
}

/** Undefined only if there is no such Secret; any other failure to read it is an error. */
async function readSecret(store: ObjectStore, ref: ObjectRef): Promise<KubeObject | undefined> {
  try {
    return await store.get(ref);
  } catch (thrown) {
    const error = MeshError.from(thrown);
    if (error.code === 'not_found') return undefined;
    throw new MeshError(error.code, `the root certificate cannot be read from ${describeRef(ref)}: ${error.message}`, error);
  }
}

function requirePems(secret: KubeObject, ref: ObjectRef): RootPems {
  const data = secret['data'];
  const text = (key: string): string => {
    const value = typeof data === 'object' && data !== null ? (data as Readonly<Record<string, unknown>>)[key] : undefined;
    if (typeof value !== 'string' || value === '') throw damaged(ref, `data has no ${key}`);
    return Buffer.from(value, 'base64').toString('utf8');
  };
  return { cert: text(CERT_KEY), key: new Redacted(text(PRIVATE_KEY_KEY)) };
}

function isExpired(pems: RootPems, ref: ObjectRef, now: Date): boolean {
  const parsed = parseCertificateChain(pems.cert);
  if (!parsed.ok) throw damaged(ref, `${CERT_KEY}: ${parsed.problems.map(formatProblem).join('; ')}`);
  return parsed.value.some(({ validToDate }) => validToDate < now);
}

function requireAuthority(pems: RootPems, ref: ObjectRef, now: Date): Authority {
  const material = { signingCert: pems.cert, signingKey: pems.key, certChain: '', rootCert: '' };
  const authority = parseAuthority(material, now);
  if (authority.ok) return authority.value;
  throw damaged(ref, authority.problems.map(formatProblem).join('; '));
}

function damaged(ref: ObjectRef, reason: string): MeshError {
  const advice = 'restore it from a copy, or delete it to have a new root made, which cuts off the workloads of the old one';
  return new MeshError('failed_precondition', `${describeRef(ref)} holds no usable root (${reason}): ${advice}`);
}

async function makeRoot(options: SelfSignedOptions): Promise<RootPems> {
  const pair = await generateKeyPair(options.keyType);
  const template = {
    subject: { organization: options.organization },
    names: [],
    publicKey: pair.publicKey,
    serial: options.newSerial(),
    ...validityFrom(options.now(), options.ttl),
    use: { type: 'ca' },
  } as const;
  const certificate = new X509Certificate(await signRoot(template, pair.privateKey));
  return { cert: encodePem('CERTIFICATE', certificate.raw), key: privateKeyPem(pair.privateKey) };
}

function secretOf(pems: RootPems, { kinds, names, namespace }: SelfSignedOptions, before: KubeObject | undefined): KubeObject {
  const version = before?.metadata.resourceVersion;
  return {
    apiVersion: kinds.secret.apiVersion,
    kind: kinds.secret.kind,
    metadata: {
      ...before?.metadata,
      name: SECRET_NAME,
      namespace,
      ...(version === undefined ? {} : { resourceVersion: version }),
    },
    type: `${names.domain}/ca-root`,
    data: {
      [CERT_KEY]: Buffer.from(pems.cert).toString('base64'),
      [PRIVATE_KEY_KEY]: Buffer.from(pems.key.reveal()).toString('base64'),
    },
  };
}

/** Whether the write went through, or another replica was first. */
async function wins(write: () => Promise<KubeObject>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (thrown) {
    const { code } = MeshError.from(thrown);
    if (code === 'already_exists' || code === 'conflict') return false;
    throw thrown;
  }
}
