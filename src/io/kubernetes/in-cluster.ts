/** The configuration that Kubernetes gives every pod (https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/). */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Parsed } from '../../lib/errors.ts';
import type { Access } from './access.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export const SERVICE_ACCOUNT_DIRECTORY = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Whether this process runs in a pod. */
export function isInCluster(env: Environment): boolean {
  return (env.KUBERNETES_SERVICE_HOST ?? '') !== '';
}

/** The token and the authority are files, which Kubernetes renews in their places. */
export function inClusterAccess(env: Environment, directory: string = SERVICE_ACCOUNT_DIRECTORY): Parsed<Access> {
  const host = env.KUBERNETES_SERVICE_HOST ?? '';
  const port = env.KUBERNETES_SERVICE_PORT_HTTPS || env.KUBERNETES_SERVICE_PORT || '443';
  const token = join(directory, 'token');
  const authority = join(directory, 'ca.crt');
  const missing = [token, authority].filter((path) => !existsSync(path));
  if (missing.length > 0) {
    const message = 'does not exist; the pod needs its service account token (automountServiceAccountToken)';
    return { ok: false, problems: missing.map((path) => ({ path, message })) };
  }
  return {
    ok: true,
    value: {
      server: {
        url: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
        authority: { type: 'file', path: authority },
        insecure: false,
      },
      user: {
        name: 'service account of the pod',
        authorization: { type: 'token', token: { type: 'file', path: token } },
        impersonate: {},
      },
    },
  };
}
