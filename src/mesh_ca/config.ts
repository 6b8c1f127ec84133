/** What is left of mesh_ca's flags once defaults and fallbacks are resolved. */
import type { Invocation } from '../flags/table.ts';
import type { LivenessFile } from '../io/probe/liveness-file.ts';
import type { KeyType } from '../io/x509/key.ts';
import type { SubjectAltName } from '../io/x509/names.ts';
import type { Duration } from '../lib/duration.ts';
import { MeshError } from '../lib/errors.ts';
import type { CaFlags } from './flags.ts';
import type { AuthorityFiles } from './plugged-in.ts';
import type { GracePeriod } from './rotation.ts';
import { serverNames } from './server-identity.ts';
import type { SigningLimits } from './signing-policy.ts';

export type AuthoritySource =
  | { readonly type: 'self-signed'; readonly keyType: KeyType; readonly ttl: Duration; readonly organization: string }
  | { readonly type: 'plugged-in'; readonly files: AuthorityFiles };

export interface CaConfig {
  readonly storePath: string;
  readonly storageNamespace: string;
  /** Undefined: every namespace. */
  readonly listenedNamespace: string | undefined;
  readonly source: AuthoritySource;
  readonly limits: SigningLimits;
  readonly grace: GracePeriod;
  /** Undefined: no gRPC. */
  readonly grpc: { readonly port: number; readonly names: readonly SubjectAltName[] } | undefined;
  /** Undefined: no liveness file. */
  readonly liveness: LivenessFile | undefined;
}

type Options = Invocation<CaFlags>['options'];

const KEY_TYPES: ReadonlyMap<number, KeyType> = new Map([
  [2048, 'rsa-2048'],
  [3072, 'rsa-3072'],
  [4096, 'rsa-4096'],
]);

/** Throws a MeshError `usage` that names the flag. */
export function resolveConfig({ options }: Invocation<CaFlags>, env: Readonly<Record<string, string | undefined>>): CaConfig {
  const storageNamespace = options['citadel-storage-namespace'];
  const hosts = [options['grpc-hostname'], ...options['grpc-host-identities'].split(',')].map((host) => host.trim());
  return {
    storePath: options['orch-config'],
    storageNamespace,
    listenedNamespace: options['listened-namespace'] || env['NAMESPACE'] || undefined,
    source: options['self-signed-ca'] ? selfSigned(options) : pluggedIn(options),
    limits: {
      defaultTtl: positive('workload-cert-ttl', options),
      maxTtl: positive('max-workload-cert-ttl', options),
      organization: options.org,
    },
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

function selfSigned(options: Options): AuthoritySource {
  const keyType = KEY_TYPES.get(options['key-size']);
  if (keyType === undefined) {
    throw new MeshError('usage', `flag --key-size: ${options['key-size']} is not one of ${[...KEY_TYPES.keys()].join(', ')}`);
  }
  const ttl = positive('self-signed-ca-cert-ttl', options);
  return { type: 'self-signed', keyType, ttl, organization: options['self-signed-ca-org'] };
}

function pluggedIn(options: Options): AuthoritySource {
  const files = {
    signingCert: options['signing-cert'],
    signingKey: options['signing-key'],
    certChain: options['cert-chain'],
    rootCert: options['root-cert'],
  };
  if (files.signingCert === '' && files.signingKey === '') {
    throw new MeshError('usage', 'no certificate authority: give --self-signed-ca, or --signing-cert and --signing-key');
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
