import type { PodSpec } from './pod-spec.ts';

const REDIRECTION_CONTAINER = 'mesh-init';
const PROXY_MARK_FLAG = '--proxy-mark';

/**
 * Why a lab that runs in a user namespace cannot run a pod, and what to do; undefined when it can. Only user 0 exists there,
 * so that a redirection which tells the proxy by its user would fail at every start. One that tells it by a mark works.
 */
export function rootlessRefusal({ initContainers }: PodSpec): string | undefined {
  const redirection = initContainers.find(({ name }) => name === REDIRECTION_CONTAINER);
  if (redirection === undefined) return undefined;
  if (redirection.args.some((arg) => arg === PROXY_MARK_FLAG || arg.startsWith(`${PROXY_MARK_FLAG}=`))) return undefined;
  return 'in a lab without root the proxy has no user of its own: let the injection template give mesh-init and the proxy settings.proxyMark, as the built-in one does, or run `mesh lab down`, then `mesh lab up` as root';
}
