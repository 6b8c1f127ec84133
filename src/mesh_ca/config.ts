/** What is left of mesh_ca's flags once defaults and fallbacks are resolved. */
import { resolve } from 'node:path';
import type { Invocation } from '../flags/table.ts';
import type { LivenessFile } from '../io/probe/liveness-file.ts';
import type { KeyType } from '../io/x509/key.ts';
import type { SubjectAltName } from '../io/x509/names.ts';
import { type Duration, formatDuration } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import { isSpiffeId } from '../lib/spiffe.ts';
import { resolveUpstream } from './config-upstream.ts';
import type { CaFlags } from './flags.ts';
import type { AuthorityFiles } from './plugged-in.ts';
import type { GracePeriod } from './rotation.ts';
import { serverNames } from './server-identity.ts';
import type { Account, SigningLimits } from './signing-policy.ts';
import type { UpstreamConfig } from './upstream-client.ts';

export type AuthoritySource =
  | { readonly type: 'self-signed'; readonly keyType: KeyType; readonly ttl: Duration; readonly organization: string }
  | { readonly type: 'plugged-in'; readonly files: AuthorityFiles }
  | { readonly type: 'upstream'; readonly keyType: KeyType; readonly upstream: UpstreamConfig };

export interface CaConfig {
  readonly storePath: string;
  readonly storageNamespace: string;
  /** Undefined: every namespace. */
  readonly listenedNamespace: string | undefined;
  readonly source: AuthoritySource;
  /** Whether accounts that serve webhooks are given the names that these are called by. */
  readonly appendDnsNames: boolean;
  readonly limits: SigningLimits;
  /** Of keys that the authority makes: its own, and those of service accounts. */
  readonly keyType: KeyType;
  readonly grace: GracePeriod;
  /** Undefined: no gRPC. */
  readonly grpc: { readonly port: number; readonly names: readonly SubjectAltName[] } | undefined;
  /** Undefined: no liveness file. */
  readonly liveness: LivenessFile | undefined;
}

/** What mesh_ca runs as in its own namespace. */
export const CA_SERVICE_ACCOUNT = 'mesh-citadel-service-account';

type Options = Invocation<CaFlags>['options'];

const KEY_TYPES: ReadonlyMap<number, KeyType> = new Map([
  [2048, 'rsa-2048'],
  [3072, 'rsa-3072'],
  [4096, 'rsa-4096'],
]);

/** Throws a MeshError `usage` that names the flag. Paths of files are taken from the directory `cwd`. */
export function resolveConfig(
  { options }: Invocation<CaFlags>,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
): CaConfig {
  const storageNamespace = options['citadel-storage-namespace'];
  const hosts = [options['grpc-hostname'], ...options['grpc-host-identities'].split(',')].map((host) => host.trim());
  return {
    storePath: options['orch-config'],
    storageNamespace,
    listenedNamespace: options['listened-namespace'] || env['NAMESPACE'] || undefined,
    source: authoritySource(options, cwd),
    appendDnsNames: options['append-dns-names'],
    limits: signingLimits(options),
    keyType: keyTypeOf(options),
    grace: gracePeriod(options),
    liveness: livenessFile(options),
    grpc:
      options['grpc-port'] === 0
        ? undefined
        : {
            port: options['grpc-port'],
            names: serverNames(
              hosts.filter((host) => host !== ''),
              storageNamespace,
            ),
          },
  };
}

function authoritySource(options: Options, cwd: string): AuthoritySource {
  if (options['upstream-ca-address'] !== '') {
    return { type: 'upstream', keyType: keyTypeOf(options), upstream: resolveUpstream(options, cwd) };
  }
  return options['self-signed-ca'] ? selfSigned(options) : pluggedIn(options, cwd);
}

function keyTypeOf(options: Options): KeyType {
  const keyType = KEY_TYPES.get(options['key-size']);
  if (keyType !== undefined) return keyType;
  throw new MeshError('usage', `flag --key-size: ${options['key-size']} is not one of ${[...KEY_TYPES.keys()].join(', ')}`);
}

function selfSigned(options: Options): AuthoritySource {
  const keyType = keyTypeOf(options);
  const ttl = positive('self-signed-ca-cert-ttl', options);
  return { type: 'self-signed', keyType, ttl, organization: organization('self-signed-ca-org', options) };
}

function signingLimits(options: Options): SigningLimits {
  const defaultTtl = positive('workload-cert-ttl', options);
  const maxTtl = positive('max-workload-cert-ttl', options);
  if (defaultTtl > maxTtl) {
    const [given, most] = [defaultTtl, maxTtl].map(formatDuration);
    throw new MeshError('usage', `flag --workload-cert-ttl: ${given} is more than --max-workload-cert-ttl allows (${most})`);
  }
  return {
    defaultTtl,
    maxTtl,
    organization: organization('org', options),
    certificateAuthorities: certificateAuthorities(options),
  };
}

/** Who may have signing certificates: the account that mesh_ca itself runs as, and those that the operator names. */
function certificateAuthorities(options: Options): readonly Account[] {
  const named = options['sign-ca-certs-for'].map((text): Account => {
    const [, namespace = '', serviceAccount = ''] = /^([^/]+)\/([^/]+)$/.exec(text) ?? [];
    if (isSpiffeId({ trustDomain: 'any', namespace, serviceAccount })) return { namespace, serviceAccount };
    throw new MeshError('usage', `flag --sign-ca-certs-for: "${text}" is not of the form namespace/serviceaccount`);
  });
  if (options['sign-ca-certs']) {
    return [{ namespace: options['citadel-storage-namespace'], serviceAccount: CA_SERVICE_ACCOUNT }, ...named];
  }
  if (named.length > 0) throw new MeshError('usage', 'flag --sign-ca-certs-for needs --sign-ca-certs beside it');
  return [];
}

/** RFC 5280 ends an organization's name at 64 characters (ub-organization-name). */
function organization(flag: 'org' | 'self-signed-ca-org', options: Options): string {
  const value = options[flag];
  if (value.length <= 64) return value;
  throw new MeshError('usage', `flag --${flag}: ${value.length} characters are more than the 64 that a certificate can hold`);
}

function pluggedIn(options: Options, cwd: string): AuthoritySource {
  const absolute = (path: string): string => (path === '' ? '' : resolve(cwd, path));
  const files = {
    signingCert: absolute(options['signing-cert']),
    signingKey: absolute(options['signing-key']),
    certChain: absolute(options['cert-chain']),
    rootCert: absolute(options['root-cert']),
  };
  if (files.signingCert === '' && files.signingKey === '') {
    throw new MeshError(
      'usage',
      'no certificate authority: give --self-signed-ca, --upstream-ca-address, or --signing-cert and --signing-key',
    );
  }
  if (files.signingCert === '') throw new MeshError('usage', 'flag --signing-key needs --signing-cert beside it');
  if (files.signingKey === '') throw new MeshError('usage', 'flag --signing-cert needs --signing-key beside it');
  return { type: 'plugged-in', files };
}

function gracePeriod(options: Options): GracePeriod {
  const ratio = options['workload-cert-grace-period-ratio'];
  if (!(ratio >= 0 && ratio <= 1))
    throw new MeshError('usage', `flag --workload-cert-grace-period-ratio: ${ratio} is not from 0 to 1`);
  const minimum = options['workload-cert-min-grace-period'];
  if (minimum < 0) throw new MeshError('usage', 'flag --workload-cert-min-grace-period: a time below 0s is no grace period');
  return { ratio, minimum };
}

function livenessFile(options: Options): LivenessFile | undefined {
  const path = options['liveness-probe-path'];
  const interval = options['liveness-probe-interval'];
  if (path === '' && interval === 0) return undefined;
  if (path === '') throw new MeshError('usage', 'flag --liveness-probe-interval needs --liveness-probe-path beside it');
  if (!(interval > 0))
    throw new MeshError('usage', 'flag --liveness-probe-path needs --liveness-probe-interval above 0s beside it');
  const checkInterval = options['probe-check-interval'];
  if (!(checkInterval > 0)) throw new MeshError('usage', 'flag --probe-check-interval: checks need more than 0s between them');
  return { path, interval, checkInterval };
}

function positive(flag: 'workload-cert-ttl' | 'max-workload-cert-ttl' | 'self-signed-ca-cert-ttl', options: Options): Duration {
  const value = options[flag];
  if (value > 0) return value;
  throw new MeshError('usage', `flag --${flag}: a certificate must be valid for more than 0s`);
}
