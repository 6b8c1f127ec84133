import { MeshError } from '../../lib/errors.ts';
import type { Names } from '../../lib/names.ts';

/** What every part of the control plane is made from. */
export interface PartOptions {
  readonly names: Names;
  /** Of the control plane. */
  readonly namespace: string;
  /** Image with the executable `mesh`. */
  readonly image: string;
  /** Of pilot-discovery, of the injector and of mixs. */
  readonly replicas: number;
}

export interface InstallOptions extends PartOptions {
  readonly mixs: MixsChoice;
  /** Whether mixs gets rules that make metrics and an access log of what sidecars report. */
  readonly defaultRules: boolean;
}

/** What mixs is there for: nothing, so that it is not installed; reports of sidecars; reports and checks. */
export const MIXS_CHOICES = ['none', 'telemetry', 'all'] as const;
export type MixsChoice = (typeof MIXS_CHOICES)[number];

/** ConfigMaps that the components read. */
export const MESH_CONFIG = { map: 'mesh', key: 'mesh' } as const;
export const INJECTION_CONFIG = { map: 'mesh-sidecar-injector', key: 'config' } as const;

/** What mesh_ca makes: the key of all identities, and its certificate in every namespace. */
export const CA_SECRET = 'mesh-ca-secret';
export const CA_ROOT_MAP = 'mesh-ca-root-cert';

/** Where a component finds the key and certificate of its own account, a secret that mesh_ca keeps. */
export const CERTIFICATES = '/etc/mesh/certs';

export const READ = ['get', 'list', 'watch'] as const;
export const FOLLOW = ['list', 'watch'] as const;

/** The volume of an account's own key and certificate. Pods wait until mesh_ca has made them. */
export function certificateMount(account: string) {
  return {
    name: 'certs',
    mountPath: CERTIFICATES,
    volume: { secret: { secretName: `mesh.${account}`, defaultMode: 0o440 } },
  };
}

/** Throws MeshError `usage`. */
export function requireNamespaceName(namespace: string): void {
  if (/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace)) return;
  throw new MeshError('usage', `--namespace: "${namespace}" is not the name of a namespace, such as mesh-system`);
}
