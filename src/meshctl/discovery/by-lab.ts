/** The one replica of a lab. It listens in the lab's network, so that it is asked from a pod there, beside a proxy. */
import type { Host } from '../../io/host.ts';
import { MeshError } from '../../lib/errors.ts';
import type { KubeObject } from '../../model/object.ts';
import { isMapping } from '../../model/parse/object.ts';
import { labExec } from '../reach/lab.ts';
import { runProgram } from '../reach/run-program.ts';
import type { DiscoveryReplica } from './replica.ts';

const ADDRESS = 'mesh-pilot.mesh-system:15007';
export const PROXY_CONTAINER = 'mesh-proxy';

/** Throws MeshError `not_found` when no pod has a sidecar; then there is no proxy either. */
export function replicaInLab(directory: string, pods: readonly KubeObject[], host: Host): DiscoveryReplica {
  const [pod] = pods.filter((candidate) => isRunning(candidate) && hasSidecar(candidate, host));
  if (pod === undefined) throw new MeshError('not_found', `no pod with a sidecar runs in the lab in ${directory}`);
  const { name, namespace = 'default' } = pod.metadata;
  const program = labExec(directory, { name, namespace }, PROXY_CONTAINER, host);
  return {
    name: 'pilot-discovery',
    async get(path, query = {}) {
      const search = new URLSearchParams(query).toString();
      const url = `http://${ADDRESS}${path}${search === '' ? '' : `?${search}`}`;
      return JSON.parse(
        await runProgram(program, ['curl', '-sS', '--fail-with-body', '--max-time', '10', url], host.signal),
      ) as unknown;
    },
  };
}

function isRunning({ metadata, status }: KubeObject): boolean {
  return metadata.deletionTimestamp === undefined && isMapping(status) && status.phase === 'Running';
}

export function hasSidecar({ metadata }: KubeObject, { names }: Pick<Host, 'names'>): boolean {
  return metadata.annotations?.[names.statusAnnotation] !== undefined;
}
