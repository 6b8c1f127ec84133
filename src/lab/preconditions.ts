import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { MeshError } from '../lib/errors.ts';
import type { Tools } from './tools.ts';

/** Gives whether the lab needs a user namespace. Throws `failed_precondition` that says exactly what to do. */
export function checkLaunch({ envoy, tools }: { readonly envoy: string; readonly tools: Tools }): boolean {
  try {
    accessSync(envoy, constants.X_OK);
  } catch (error) {
    throw new MeshError(
      'failed_precondition',
      `Envoy is not at ${envoy}; run \`npm run setup\`, or name a binary by ENVOY_PATH`,
      error,
    );
  }
  const rootless = process.getuid?.() !== 0;
  const namespaces = [...(rootless ? ['--user', '--map-root-user'] : []), '--net', '--mount', '--pid', '--fork'];
  const trial = spawnSync(tools.unshare, [...namespaces, '--kill-child', tools.sh, '-c', ':'], { encoding: 'utf8' });
  if (trial.status === 0) return rootless;
  const reason = trial.stderr.trim() || trial.error?.message || `exit code ${trial.status}`;
  const cure = rootless
    ? 'run it as root, or allow unprivileged user namespaces: sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000 kernel.apparmor_restrict_unprivileged_userns=0'
    : 'it needs the capability CAP_SYS_ADMIN; in a container, start that with --privileged';
  throw new MeshError('failed_precondition', `the lab cannot make its namespaces (${reason}); ${cure}`);
}
