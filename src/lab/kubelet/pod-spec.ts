import type { Duration } from '../../lib/duration.ts';

/** What the lab runs of a Kubernetes PodSpec, parsed by parse-pod-spec.ts. Fields it has no use for (resources) are left out. */
export interface PodSpec {
  readonly initContainers: readonly ContainerSpec[];
  readonly containers: readonly ContainerSpec[];
  readonly volumes: readonly VolumeSpec[];
  readonly serviceAccountName: string;
  readonly restartPolicy: RestartPolicy;
  readonly terminationGracePeriod: Duration;
  readonly hostname: string | undefined;
  /** Owns the files of the pod's volumes; every process of the pod is in it. */
  readonly fsGroup: number | undefined;
}

export type RestartPolicy = 'Always' | 'OnFailure' | 'Never';

export interface ContainerSpec {
  readonly name: string;
  readonly image: string;
  /** Absent: the image's own. */
  readonly command: readonly string[] | undefined;
  readonly args: readonly string[];
  readonly workingDir: string | undefined;
  readonly envFrom: readonly EnvFrom[];
  readonly env: readonly EnvVar[];
  readonly ports: readonly ContainerPort[];
  readonly volumeMounts: readonly VolumeMount[];
  readonly user: UserSpec;
  readonly startupProbe: ProbeSpec | undefined;
  readonly livenessProbe: ProbeSpec | undefined;
  readonly readinessProbe: ProbeSpec | undefined;
  readonly postStart: HookSpec | undefined;
  readonly preStop: HookSpec | undefined;
  /** An init container that keeps running beside the others (`restartPolicy: Always`). */
  readonly sidecar: boolean;
}

export interface UserSpec {
  readonly uid: number | undefined;
  readonly gid: number | undefined;
  /** Further groups. */
  readonly groups: readonly number[];
  /** Capabilities without `CAP_`, in capitals. */
  readonly addCapabilities: readonly string[];
  readonly dropCapabilities: readonly string[];
  readonly privileged: boolean;
}

export interface ContainerPort {
  readonly name: string | undefined;
  readonly port: number;
  readonly protocol: string;
}

export interface VolumeMount {
  readonly volume: string;
  readonly path: string;
  readonly subPath: string | undefined;
  readonly readOnly: boolean;
}

export type EnvFrom = {
  readonly source: 'configMap' | 'secret';
  readonly name: string;
  readonly prefix: string;
  readonly optional: boolean;
};

export interface EnvVar {
  readonly name: string;
  readonly value: EnvValue;
}

export type EnvValue =
  | { readonly type: 'literal'; readonly text: string }
  | { readonly type: 'field'; readonly fieldPath: string }
  | { readonly type: 'configMap' | 'secret'; readonly name: string; readonly key: string; readonly optional: boolean };

export interface VolumeSpec {
  readonly name: string;
  readonly source: VolumeSource;
}

export type VolumeSource =
  | { readonly type: 'emptyDir' }
  | { readonly type: 'hostPath'; readonly path: string }
  | { readonly type: 'projected'; readonly parts: readonly ProjectedPart[]; readonly mode: number };

/** configMap, secret and downwardAPI volumes are projected volumes with one part. */
export type ProjectedPart =
  | {
      readonly type: 'configMap' | 'secret';
      readonly name: string;
      readonly optional: boolean;
      /** Empty: every key, under its own name. */
      readonly items: readonly KeyToPath[];
    }
  | { readonly type: 'downwardAPI'; readonly items: readonly { readonly path: string; readonly fieldPath: string }[] }
  | { readonly type: 'serviceAccountToken'; readonly audience: string; readonly lifetime: Duration; readonly path: string };

export interface KeyToPath {
  readonly key: string;
  readonly path: string;
}

export interface ProbeSpec {
  readonly action: ProbeAction;
  readonly initialDelay: Duration;
  readonly period: Duration;
  readonly timeout: Duration;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

export type ProbeAction =
  | HttpGet
  | { readonly type: 'tcpSocket'; readonly host: string | undefined; readonly port: number | string }
  | Exec;

export type HookSpec = HttpGet | Exec | { readonly type: 'sleep'; readonly time: Duration };

export interface HttpGet {
  readonly type: 'httpGet';
  /** Absent: the pod's address. */
  readonly host: string | undefined;
  readonly port: number | string;
  readonly path: string;
  readonly scheme: 'HTTP' | 'HTTPS';
  readonly headers: readonly { readonly name: string; readonly value: string }[];
}

export interface Exec {
  readonly type: 'exec';
  readonly command: readonly string[];
}
